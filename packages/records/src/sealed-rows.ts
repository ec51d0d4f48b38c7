import type { Sample } from '@agentjet/core';
import type { SampledRow, SampledSpan } from '@agentjet/context-tracker';
import { ByteSlab } from './byte-slab.js';
import { packIds, unpackIds, type IdWidth } from './packed-ids.js';
import { floatsIn } from './packed-numbers.js';

/**
 * A row as a list of spans: `spans` has the numbers `start, end, version, turn` of each span. The bytes of the end
 * record contain the rows one after the other. Each row has its ids first, then the logprobs of its spans. An id takes
 * only `width` bytes, to save space: most bytes of an end record are ids.
 */
export type RowSpans = {
  readonly agent: string;
  readonly target: string;
  readonly width: IdWidth;
  readonly spans: readonly number[];
  /** One entry for each span, if a call of the episode sets a temperature. */
  readonly temperatures?: readonly number[];
};

export type SealedRows = { readonly rows: readonly RowSpans[]; readonly bytes: readonly Uint8Array[] };

export function sealRows(rows: readonly SampledRow[]): SealedRows {
  const bytes: Uint8Array[] = [];
  const sealed: RowSpans[] = []; // a list that grows serializes faster than one that `map` makes
  for (const row of rows) {
    const { width, bytes: ids } = packIds(row.ids, row.idBits, slab);
    bytes.push(ids, packLogprobs(row.spans));
    sealed.push(toRowSpans(row, width));
  }
  return { rows: sealed, bytes };
}

const slab = new ByteSlab();

/** Reads the rows of an end record. They have no advantages. */
export function openRows(
  episodeId: string,
  rows: readonly RowSpans[],
  bytes: readonly Uint8Array[] = [],
): readonly Sample[] {
  return rows.map((row, at) => {
    const ids = unpackIds(bytes[2 * at] ?? noBytes, row.width);
    return openSpans(episodeId, row, { ids, logprobs: floatsIn(bytes[2 * at + 1] ?? noBytes) });
  });
}

const noBytes = new Uint8Array(0);

function toRowSpans({ agentName, targetTag, spans, hasTemperatures }: SampledRow, width: IdWidth): RowSpans {
  const numbers: number[] = [];
  for (const { start, end, policyVersion, turn } of spans) numbers.push(start, end, policyVersion, turn);
  const row = { agent: agentName, target: targetTag, width, spans: numbers };
  return hasTemperatures ? { ...row, temperatures: spans.map(({ temperature }) => Math.fround(temperature)) } : row;
}

/** Packs the logprobs of all spans into one array, in order. */
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

/** Creates a sample from a row. Tokens between spans have no version and no turn (-1). */
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

/** Returns the row from which a tracker made this sample. */
export function toSampledRow(sample: Sample): SampledRow {
  const { agentName, targetTag, ids, lossMask, temperatures } = sample;
  const spans: SampledSpan[] = [];
  for (let start = 0; start < ids.length; start++) {
    if (lossMask[start] !== 1) continue;
    let end = start + 1;
    while (end < ids.length && lossMask[end] === 1 && isSameSpan(sample, start, end)) end++;
    const numbers = { policyVersion: sample.policyVersions[start] ?? -1, turn: sample.turnIndices?.[start] ?? -1 };
    const logprobs = sample.logprobs.subarray(start, end);
    spans.push({ start, end, ...numbers, temperature: temperatures?.[start] ?? 0, logprobs });
    start = end - 1;
  }
  const idBits = ids.reduce((bits, id) => bits | id, 0);
  return { agentName, targetTag, ids, idBits, spans, hasTemperatures: temperatures !== undefined };
}

/** Whether two tokens are in one span. All tokens of a span come from one call. */
const isSameSpan = ({ policyVersions, turnIndices, temperatures }: Sample, one: number, other: number): boolean =>
  policyVersions[one] === policyVersions[other] &&
  turnIndices?.[one] === turnIndices?.[other] &&
  temperatures?.[one] === temperatures?.[other];
