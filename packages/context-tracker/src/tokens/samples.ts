import type { Sample } from '@agentjet/core';
import { inOrder, type RecordedCall } from './recorded-call.js';
import type { TokenRow } from './token-rows.js';
import { readPath } from './token-tree.js';

/** Samples of an episode: each sampled token has lossMask 1 in exactly one of them, after the ids it was sampled from. */
export function toSamples(
  episodeId: string,
  rows: readonly TokenRow[],
  calls: readonly RecordedCall[],
): readonly Sample[] {
  const turnOf = new Map(inOrder(calls).map((call, turn) => [call, turn]));
  return rows.map((row) => toSample(episodeId, row, turnOf));
}

function toSample(episodeId: string, { leaf, calls }: TokenRow, turnOf: ReadonlyMap<RecordedCall, number>): Sample {
  const ids = readPath(leaf.end).slice();
  const lossMask = new Uint8Array(ids.length);
  const logprobs = new Float32Array(ids.length);
  const policyVersions = new Int32Array(ids.length).fill(-1);
  const turnIndices = new Int32Array(ids.length).fill(-1);
  for (const call of calls) {
    lossMask.fill(1, call.promptLength, call.end.depth);
    logprobs.set(call.logprobs, call.promptLength);
    policyVersions.fill(call.policyVersion, call.promptLength, call.end.depth);
    turnIndices.fill(turnOf.get(call) ?? -1, call.promptLength, call.end.depth);
  }
  const { agentName, targetTag } = leaf.agent;
  return {
    episodeId,
    agentName,
    targetTag,
    ids,
    lossMask,
    logprobs,
    policyVersions,
    turnIndices,
    advantages: new Float32Array(ids.length),
  };
}
