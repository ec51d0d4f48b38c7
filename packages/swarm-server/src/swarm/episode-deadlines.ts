import type { Ledger } from '@agentjet/ledger';

/**
 * The deadlines of episodes. Time is measured on the lease clock. That clock stops while the server is paused or
 * changes weights, and starts again after a recovery. All episodes have the same time limit, so they expire in the
 * order in which they began.
 */
export class EpisodeDeadlines {
  readonly #clock: Ledger['clock'];
  readonly #limitMs: number | undefined;
  readonly #begunMs = new Map<string, number>();

  /** `limitMs` is undefined if episodes have no time limit. */
  constructor(clock: Ledger['clock'], limitMs: number | undefined) {
    this.#clock = clock;
    this.#limitMs = limitMs;
  }

  begin(episodeId: string): void {
    if (this.#limitMs !== undefined) this.#begunMs.set(episodeId, this.#clock.read());
  }

  /** Returns the episodes whose time is over, each once. Some may have ended already. */
  over(): readonly string[] {
    const over: string[] = [];
    const latestMs = this.#clock.read() - (this.#limitMs ?? Infinity);
    for (const [episodeId, begunMs] of this.#begunMs) {
      if (begunMs > latestMs) break;
      this.#begunMs.delete(episodeId);
      over.push(episodeId);
    }
    return over;
  }
}
