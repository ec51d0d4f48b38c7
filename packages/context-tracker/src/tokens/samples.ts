import type { Sample } from '@agentjet/core';
import type { SampledRow } from './sampled-rows.js';

/**
 * Returns the samples of an episode. Each trained token has lossMask 1 in exactly one of them, after the ids it was
 * sampled from.
 */
export function samplesOfRows(episodeId: string, rows: readonly SampledRow[]): readonly Sample[] {
  return rows.map((row) => toSample(episodeId, row));
}

function toSample(episodeId: string, { agentName, targetTag, ids, spans, hasTemperatures }: SampledRow): Sample {
  const { length } = ids;
  const lossMask = new Uint8Array(length);
  const logprobs = new Float32Array(length);
  const policyVersions = new Int32Array(length).fill(-1);
  const turnIndices = new Int32Array(length).fill(-1);
  const temperatures = hasTemperatures ? new Float32Array(length) : undefined;
  for (const { start, end, turn, policyVersion, temperature, logprobs: sampled } of spans) {
    lossMask.fill(1, start, end);
    logprobs.set(sampled, start);
    policyVersions.fill(policyVersion, start, end);
    turnIndices.fill(turn, start, end);
    temperatures?.fill(temperature, start, end);
  }
  return {
    episodeId,
    agentName,
    targetTag,
    ids: ids.slice(),
    lossMask,
    logprobs,
    policyVersions,
    turnIndices,
    ...(temperatures !== undefined && { temperatures }),
    advantages: new Float32Array(length),
  };
}
