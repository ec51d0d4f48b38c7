import type { TurnDescription } from '../contract.js';
import { TurnPacker, unpackTurns, type PackedTurns } from '../inspection/packed-turn.js';
import { describeTurn } from '../turn/describe-turns.js';
import type { SampledCall } from './sampled-call.js';
import { type SampledRow, type SampledSpan, toSpan } from './sampled-rows.js';
import { readPath, segmentAt } from './token-tree.js';

/**
 * Tracks whether the calls of an episode are one conversation in which each call continues the one before it. They then
 * form one row, the same as `layRows` would make. Each commit extends the chain, so that the end of an episode does not
 * visit the calls again while a client waits for it.
 */
export class RowChain {
  readonly #temperature: number;
  readonly #spans: SampledSpan[] = [];
  readonly #turns = new TurnPacker();
  readonly #indices: number[] = [];
  #last: SampledCall | undefined;
  #isBroken = false;
  #hasTemperatures = false;

  /** `temperature`: the temperature of calls that have recorded none. */
  constructor(temperature: number) {
    this.#temperature = temperature;
  }

  /** Call this for every call, in the order of commits. */
  add(call: SampledCall): void {
    if (this.#isBroken) return;
    this.#isBroken = !this.#goesOn(call);
    if (this.#isBroken) return;
    const place = this.#indices.length;
    this.#last = call;
    this.#indices.push(call.index);
    this.#turns.add(describeTurn(call, { place, sample: 0, placeOf: (index) => this.#indices.indexOf(index) }));
    if (call.isTrained) this.#spans.push(toSpan(call, place, this.#temperature));
    if (call.temperature !== undefined) this.#hasTemperatures = true;
  }

  /**
   * Returns undefined if there is no call yet, or if the calls are not a chain. `idBits`: the bits of all ids of the
   * tree.
   */
  readRow(idBits: number): SampledRow | undefined {
    const last = this.#last;
    if (this.#isBroken || last === undefined) return undefined;
    const { agentName, targetTag } = last.agent;
    const ids = readPath(last.end);
    return { agentName, targetTag, ids, idBits, spans: [...this.#spans], hasTemperatures: this.#hasTemperatures };
  }

  /** Returns the descriptions of the calls, packed. Undefined if `readRow` returns undefined. */
  packTurns(laterMs?: number): PackedTurns | undefined {
    return this.#isBroken || this.#last === undefined ? undefined : this.#turns.read(laterMs);
  }

  /** Descriptions of the calls. Undefined if `readRow` returns undefined. */
  get turns(): readonly TurnDescription[] | undefined {
    const packed = this.packTurns();
    return packed && unpackTurns(packed);
  }

  /**
   * Returns whether the call continues the previous call. It compares segments, not ids: the tree contains only the
   * chain, so a call that ends in the segment of the previous call begins with the ids of that call.
   */
  #goesOn({ agent, index, end, promptLength }: SampledCall): boolean {
    if (end.depth <= promptLength) return false;
    const last = this.#last;
    if (last === undefined) return true;
    const { agentName, targetTag } = last.agent;
    if (agent.agentName !== agentName || agent.targetTag !== targetTag) return false;
    return index > last.index && promptLength >= last.end.depth && segmentAt(end) === segmentAt(last.end);
  }
}
