import type { Sample } from '@agentjet/core';
import { inOrder, type RecordedCall } from './recorded-call.js';
import type { TokenRow } from './token-rows.js';
import { readPath } from './token-tree.js';

/** Samples of an episode: each sampled token that is trained has lossMask 1 in exactly one of them, after the ids it was sampled from. */
export function toSamples(
  episodeId: string,
  rows: readonly TokenRow[],
  { calls, temperature }: { readonly calls: readonly RecordedCall[]; readonly temperature: number },
): readonly Sample[] {
  const turnOf = new Map(inOrder(calls).map((call, turn) => [call, turn]));
  const hasTemperatures = calls.some((call) => call.temperature !== undefined);
  return rows.map((row) => {
    const sample = toSample(episodeId, row, turnOf);
    return hasTemperatures ? { ...sample, temperatures: toTemperatures(row, temperature) } : sample;
  });
}

function toSample(episodeId: string, { leaf, calls }: TokenRow, turnOf: ReadonlyMap<RecordedCall, number>): Sample {
  const ids = readPath(leaf.end).slice();
  const lossMask = new Uint8Array(ids.length);
  const logprobs = new Float32Array(ids.length);
  const policyVersions = new Int32Array(ids.length).fill(-1);
  const turnIndices = new Int32Array(ids.length).fill(-1);
  for (const call of calls.filter(({ isTrained }) => isTrained)) {
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

/** A call that names none was sampled at the run's. */
function toTemperatures({ leaf, calls }: TokenRow, runs: number): Float32Array {
  const temperatures = new Float32Array(leaf.end.depth);
  for (const { temperature = runs, promptLength, end } of calls.filter(({ isTrained }) => isTrained))
    temperatures.fill(temperature, promptLength, end.depth);
  return temperatures;
}
