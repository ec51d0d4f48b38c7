import { inOrder, type RecordedCall } from './recorded-call.js';
import type { TokenRow } from './token-rows.js';
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

export function toSampledRows(
  rows: readonly TokenRow[],
  { calls, temperature }: { readonly calls: readonly RecordedCall[]; readonly temperature: number },
): readonly SampledRow[] {
  const turnOf = new Map(inOrder(calls).map((call, turn) => [call, turn]));
  const hasTemperatures = calls.some((call) => call.temperature !== undefined);
  return rows.map((row) => {
    const trained = row.calls.filter(({ isTrained }) => isTrained).toSorted((a, b) => a.promptLength - b.promptLength);
    const { agentName, targetTag } = row.leaf.agent;
    return {
      agentName,
      targetTag,
      ids: readPath(row.leaf.end),
      spans: trained.map((call) => ({
        start: call.promptLength,
        end: call.end.depth,
        logprobs: call.logprobs,
        policyVersion: call.policyVersion,
        turn: turnOf.get(call) ?? -1,
        temperature: call.temperature ?? temperature,
      })),
      hasTemperatures,
    };
  });
}
