import type { Sample } from '@agentjet/core';
import { packFloats, packInts, packRuns, unpackFloats, unpackInts, unpackRuns } from './packed-numbers.js';

/** A trainable row as an end record keeps it: logprobs of generated tokens only, everything to the last bit. */
export type SealedRow = {
  readonly agent: string;
  readonly target: string;
  readonly ids: string;
  readonly mask: readonly number[];
  readonly logprobs: string;
  readonly versions: readonly number[];
  readonly turns?: readonly number[];
  readonly temperatures?: readonly number[];
};

export function sealRow(sample: Sample): SealedRow {
  const { ids, lossMask, logprobs, policyVersions, turnIndices, temperatures } = sample;
  return {
    agent: sample.agentName,
    target: sample.targetTag,
    ids: packInts(ids),
    mask: packRuns(lossMask),
    logprobs: packFloats(gather(logprobs, lossMask)),
    versions: packRuns(policyVersions),
    ...(turnIndices !== undefined && { turns: packRuns(turnIndices) }),
    ...(temperatures !== undefined && { temperatures: packRuns(temperatures) }),
  };
}

/** The row as it was sealed, without advantages. */
export function openRow(episodeId: string, row: SealedRow): Sample {
  const ids = unpackInts(row.ids);
  const { length } = ids;
  const lossMask = unpackRuns(row.mask, new Uint8Array(length));
  return {
    episodeId,
    agentName: row.agent,
    targetTag: row.target,
    ids,
    lossMask,
    logprobs: spread(unpackFloats(row.logprobs), lossMask),
    policyVersions: unpackRuns(row.versions, new Int32Array(length)),
    ...(row.turns !== undefined && { turnIndices: unpackRuns(row.turns, new Int32Array(length)) }),
    ...(row.temperatures !== undefined && { temperatures: unpackRuns(row.temperatures, new Float32Array(length)) }),
    advantages: new Float32Array(length),
  };
}

/** The values where the mask is 1. */
function gather(values: Float32Array, mask: Uint8Array): Float32Array {
  const chosen = new Float32Array(mask.length);
  let count = 0;
  for (let at = 0; at < mask.length; at++) if (mask[at] === 1) chosen[count++] = values[at] ?? 0;
  return chosen.subarray(0, count);
}

/** Puts the values where the mask is 1. */
function spread(values: Float32Array, mask: Uint8Array): Float32Array {
  const all = new Float32Array(mask.length);
  let next = 0;
  for (let at = 0; at < mask.length; at++) if (mask[at] === 1) all[at] = values[next++] ?? 0;
  return all;
}
