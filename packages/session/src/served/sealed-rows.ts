import type { Sample } from '@agentjet/core';
import type { SampledRow, SampledSpan } from '@agentjet/context-tracker';
import { ByteSlab } from './byte-slab.js';
import { packIds, unpackIds, type IdWidth } from './packed-ids.js';
import {
  floatsIn,
  intsIn,
  packFloats,
  packInts,
  packRuns,
  unpackFloats,
  unpackInts,
  unpackRuns,
} from './packed-numbers.js';

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

/** A row of stores before format 4: ids and logprobs are in the bytes of its record, four for each id. */
export type RowHead = Omit<SealedRow, 'ids' | 'logprobs'>;

/**
 * A row told in spans: `start, end, version, turn` of each. Ids and logprobs are in the bytes of its record: ids first, then the
 * logprobs of the spans, row after row. An id takes `width` bytes, since most of what an end writes is ids.
 */
export type RowSpans = {
  readonly agent: string;
  readonly target: string;
  readonly width: IdWidth;
  readonly spans: readonly number[];
  /** Of each span, if a call of the episode names its own. */
  readonly temperatures?: readonly number[];
};

export type SealedRows = { readonly rows: readonly RowSpans[]; readonly bytes: readonly Uint8Array[] };

export function sealRows(rows: readonly SampledRow[]): SealedRows {
  const bytes: Uint8Array[] = [];
  const sealed: RowSpans[] = []; // a list that grows is printed faster than one that `map` makes
  for (const row of rows) {
    const { width, bytes: ids } = packIds(row.ids, row.idBits, slab);
    bytes.push(ids, packLogprobs(row.spans));
    sealed.push(toRowSpans(row, width));
  }
  return { rows: sealed, bytes };
}

const slab = new ByteSlab();

/** Rows as an end record keeps them; records of older versions have other rows. */
export function openRows(
  episodeId: string,
  rows: readonly (SealedRow | RowHead | RowSpans)[],
  bytes: readonly Uint8Array[] = [],
): readonly Sample[] {
  return rows.map((row, at) => {
    if ('ids' in row) return openRow(episodeId, row);
    const ids = bytes[2 * at] ?? noBytes;
    const logprobs = floatsIn(bytes[2 * at + 1] ?? noBytes);
    if ('spans' in row) return openSpans(episodeId, row, { ids: unpackIds(ids, row.width), logprobs });
    return toSample(episodeId, row, { ids: intsIn(ids), logprobs });
  });
}

const noBytes = new Uint8Array(0);

function toRowSpans({ agentName, targetTag, spans, hasTemperatures }: SampledRow, width: IdWidth): RowSpans {
  const numbers: number[] = [];
  for (const { start, end, policyVersion, turn } of spans) numbers.push(start, end, policyVersion, turn);
  const row = { agent: agentName, target: targetTag, width, spans: numbers };
  return hasTemperatures ? { ...row, temperatures: spans.map(({ temperature }) => Math.fround(temperature)) } : row;
}

/** One span after the other. */
function packLogprobs(spans: readonly SampledSpan[]): Uint8Array {
  let length = 0;
  for (const { start, end } of spans) length += end - start;
  const from = slab.take(4 * length);
  let at = from / 4;
  for (const { start, end, logprobs } of spans) {
    slab.floats.set(logprobs, at);
    at += end - start;
  }
  return slab.bytes.subarray(from, from + 4 * length);
}

type RowNumbers = { readonly ids: Int32Array; readonly logprobs: Float32Array };

/** Between spans tokens have no version and no turn (-1). */
function openSpans(episodeId: string, row: RowSpans, { ids, logprobs }: RowNumbers): Sample {
  const { length } = ids;
  const lossMask = new Uint8Array(length);
  const spread = new Float32Array(length);
  const policyVersions = new Int32Array(length).fill(-1);
  const turnIndices = new Int32Array(length).fill(-1);
  const temperatures = new Float32Array(length);
  let taken = 0;
  for (let at = 0; at < row.spans.length; at += 4) {
    const [start = 0, end = 0, version = -1, turn = -1] = row.spans.slice(at, at + 4);
    lossMask.fill(1, start, end);
    spread.set(logprobs.subarray(taken, taken + end - start), start);
    policyVersions.fill(version, start, end);
    turnIndices.fill(turn, start, end);
    temperatures.fill(row.temperatures?.[at / 4] ?? 0, start, end);
    taken += end - start;
  }
  return {
    episodeId,
    agentName: row.agent,
    targetTag: row.target,
    ids,
    lossMask,
    logprobs: spread,
    policyVersions,
    turnIndices,
    ...(row.temperatures !== undefined && { temperatures }),
    advantages: new Float32Array(length),
  };
}

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
  return toSample(episodeId, row, { ids: unpackInts(row.ids), logprobs: unpackFloats(row.logprobs) });
}

/** `logprobs`: those of the sampled tokens. */
function toSample(episodeId: string, row: RowHead, { ids, logprobs }: RowNumbers): Sample {
  const { length } = ids;
  const lossMask = unpackRuns(row.mask, new Uint8Array(length));
  return {
    episodeId,
    agentName: row.agent,
    targetTag: row.target,
    ids,
    lossMask,
    logprobs: spread(logprobs, lossMask),
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
