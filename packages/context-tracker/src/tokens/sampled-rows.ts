import { placesIn, type SampledCall } from './sampled-call.js';
import type { CallRow } from './call-rows.js';
import { readPath } from './token-tree.js';

/**
 * A trainable row of an episode as spans. `Sample` holds the same facts token by token. Ids outside of all spans were
 * read, not sampled.
 */
export type SampledRow = {
  readonly agentName: string;
  readonly targetTag: string;
  /** Shape [T]. It may be a view of the tracker's memory. */
  readonly ids: Int32Array;
  /** Contains every bit that is set in any id. */
  readonly idBits: number;
  /** Spans in their order, without overlaps. */
  readonly spans: readonly SampledSpan[];
  /** Whether any call of the episode has a recorded temperature. */
  readonly hasTemperatures: boolean;
};

/** Ids `start` to `end` (exclusive) of a row that one call sampled and that are trained here. */
export type SampledSpan = {
  readonly start: number;
  readonly end: number;
  /** Shape [end - start]. */
  readonly logprobs: Float32Array;
  readonly policyVersion: number;
  /** Position of the call in the episode, in the order in which calls began. */
  readonly turn: number;
  /** The run's temperature if the call has none. */
  readonly temperature: number;
};

/** `idBits`: as in a row. `temperature`: the temperature of calls that have recorded none. */
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
