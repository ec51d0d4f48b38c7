import type { ForkCause } from '@agentjet/core';
import type { SeenTurn } from '../prompt/seen-state.js';

type ByAgent<T> = Record<string, T>;

/** What happened to the histories that agents sent, by agent. */
export class EpisodeCounts {
  readonly forks: ByAgent<Partial<Record<ForkCause, number>>> = {};
  readonly splices: ByAgent<number> = {};
  readonly foreignMessages: ByAgent<number> = {};
  readonly #spliced = new Set<SeenTurn>();

  addFork(agentName: string, cause: ForkCause | undefined): void {
    if (cause === undefined) return;
    const causes = (this.forks[agentName] ??= {});
    causes[cause] = (causes[cause] ?? 0) + 1;
  }

  /** A turn counts once, in however many requests it comes back respelled. */
  addSplice(agentName: string, turn: SeenTurn): void {
    if (this.#spliced.has(turn)) return;
    this.#spliced.add(turn);
    this.splices[agentName] = (this.splices[agentName] ?? 0) + 1;
  }

  addForeign(agentName: string, count: number): void {
    if (count > 0) this.foreignMessages[agentName] = (this.foreignMessages[agentName] ?? 0) + count;
  }
}
