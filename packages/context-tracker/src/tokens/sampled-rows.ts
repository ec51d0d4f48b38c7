import { placesIn, type SampledCall } from './sampled-call.js';
import type { CallRow } from './call-rows.js';
import { readPath } from './token-tree.js';

/**
 * A trainable row of an episode, told in spans: what `Sample` spells out token by token. Ids that no span covers were read,
 * not sampled.
 */
export type SampledRow = {
  readonly agentName: string;
  readonly targetTag: string;
  /** Shape [T]. It may be a view of the tracker's memory. */
  readonly ids: Int32Array;
  /** No id has a bit that this number lacks. */
  readonly idBits: number;
  /** In their order; none overlaps another. */
  readonly spans: readonly SampledSpan[];
  /** Whether a call of the episode names the temperature that it was sampled at. */
  readonly hasTemperatures: boolean;
};

/** Ids `start` to `end` (exclusive) of a row, sampled in one call and trained here. */
export type SampledSpan = {
  readonly start: number;
  readonly end: number;
  /** Shape [end - start]. */
  readonly logprobs: Float32Array;
  readonly policyVersion: number;
  /** Place of the call among those of the episode, in the order in which they began. */
  readonly turn: number;
  /** A call that names none was sampled at the run's. */
  readonly temperature: number;
};

/** `idBits`: as in a row. `temperature`: of calls that name none. */
export type RowFacts = { readonly idBits: number; readonly temperature: number };

export function toSampledRows(
  rows: readonly CallRow[],
  { calls, idBits, temperature }: { readonly calls: readonly SampledCall[] } & RowFacts,
): readonly SampledRow[] {
  const turnOf = placesIn(calls);
  const hasTemperatures = calls.some((call) => call.temperature !== undefined);
  return rows.map((row) => {
    const { agentName, targetTag } = row.leaf.agent;
    const spans: SampledSpan[] = [];
    for (let at = row.calls.length - 1; at >= 0; at--) {
      const call = row.calls[at];
      if (call?.isTrained === true) spans.push(toSpan(call, turnOf(call), temperature));
    }
    const isInOrder = spans.every(({ start }, at) => at === 0 || start >= (spans[at - 1]?.start ?? 0));
    if (!isInOrder) spans.sort((left, right) => left.start - right.start);
    return { agentName, targetTag, ids: readPath(row.leaf.end), idBits, spans, hasTemperatures };
  });
}

export function toSpan(call: SampledCall, turn: number, temperature: number): SampledSpan {
  return {
    start: call.promptLength,
    end: call.end.depth,
    logprobs: call.logprobs,
    policyVersion: call.policyVersion,
    turn,
    temperature: call.temperature ?? temperature,
  };
}
