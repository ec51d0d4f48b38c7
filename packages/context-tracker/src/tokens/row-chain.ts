import type { TurnDescription } from '../contract.js';
import { describeTurn } from '../turn/describe-turns.js';
import type { SampledCall } from './sampled-call.js';
import { type SampledRow, type SampledSpan, toSpan } from './sampled-rows.js';
import { readPath, segmentAt } from './token-tree.js';

/**
 * The calls of an episode as long as they are one conversation, in which each goes on where the one before it ended: one row, as
 * `layRows` would lay it. It is told while the calls are committed, so that the end of an episode, for which a client waits, looks
 * at none of them again.
 */
export class RowChain {
  readonly #temperature: number;
  readonly #spans: SampledSpan[] = [];
  readonly #turns: TurnDescription[] = [];
  readonly #indices: number[] = [];
  #last: SampledCall | undefined;
  #isBroken = false;
  #hasTemperatures = false;

  /** `temperature`: of calls that name none. */
  constructor(temperature: number) {
    this.#temperature = temperature;
  }

  /** To be told of every call, in the order of commits. */
  add(call: SampledCall): void {
    if (this.#isBroken) return;
    this.#isBroken = !this.#goesOn(call);
    if (this.#isBroken) return;
    const place = this.#turns.length;
    this.#last = call;
    this.#indices.push(call.index);
    this.#turns.push(describeTurn(call, { place, sample: 0, placeOf: (index) => this.#indices.indexOf(index) }));
    if (call.isTrained) this.#spans.push(toSpan(call, place, this.#temperature));
    if (call.temperature !== undefined) this.#hasTemperatures = true;
  }

  /** Undefined: there is no call yet, or the calls are not a chain. `idBits`: those of the tree. */
  readRow(idBits: number): SampledRow | undefined {
    const last = this.#last;
    if (this.#isBroken || last === undefined) return undefined;
    const { agentName, targetTag } = last.agent;
    const ids = readPath(last.end);
    return { agentName, targetTag, ids, idBits, spans: [...this.#spans], hasTemperatures: this.#hasTemperatures };
  }

  /** Undefined where the row is. */
  get turns(): readonly TurnDescription[] | undefined {
    return this.#isBroken || this.#last === undefined ? undefined : [...this.#turns];
  }

  /** Nothing else was written into the tree, so who ends in the segment of the call before has its ids in front. */
  #goesOn({ agent, index, end, promptLength }: SampledCall): boolean {
    if (end.depth <= promptLength) return false;
    const last = this.#last;
    if (last === undefined) return true;
    const { agentName, targetTag } = last.agent;
    if (agent.agentName !== agentName || agent.targetTag !== targetTag) return false;
    return index > last.index && promptLength >= last.end.depth && segmentAt(end) === segmentAt(last.end);
  }
}
