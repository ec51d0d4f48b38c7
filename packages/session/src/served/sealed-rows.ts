import type { Sample } from '@agentjet/core';
import type { SampledRow, SampledSpan } from '@agentjet/context-tracker';
import {
  bytesOf,
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

/** A sealed row whose ids and logprobs are in the bytes of its record: ids first, then logprobs, row after row. */
export type RowHead = Omit<SealedRow, 'ids' | 'logprobs'>;

export type SealedRows = { readonly rows: readonly RowHead[]; readonly bytes: readonly Uint8Array[] };

/** Rows of a tracker. The bytes of their ids are those of the tracker's memory, so they are to be written at once. */
export function sealRows(rows: readonly SampledRow[]): SealedRows {
  return {
    rows: rows.map(toHead),
    bytes: rows.flatMap(({ ids, spans }) => [bytesOf(ids), bytesOf(concat(spans))]),
  };
}

/** Rows as an end record keeps them; records of older versions have ids and logprobs in the rows themselves. */
export function openRows(
  episodeId: string,
  rows: readonly (SealedRow | RowHead)[],
  bytes: readonly Uint8Array[] = [],
): readonly Sample[] {
  return rows.map((row, at) => {
    if ('ids' in row) return openRow(episodeId, row);
    const [ids = noBytes, logprobs = noBytes] = bytes.slice(2 * at);
    return toSample(episodeId, row, { ids: intsIn(ids), logprobs: floatsIn(logprobs) });
  });
}

const noBytes = new Uint8Array(0);

function toHead({ agentName, targetTag, ids, spans, hasTemperatures }: SampledRow): RowHead {
  const runs = (between: number, of: (span: SampledSpan) => number): readonly number[] =>
    runsOf(spans, ids.length, { between, of });
  return {
    agent: agentName,
    target: targetTag,
    mask: runs(0, () => 1),
    versions: runs(-1, ({ policyVersion }) => policyVersion),
    turns: runs(-1, ({ turn }) => turn),
    ...(hasTemperatures && { temperatures: runs(0, ({ temperature }) => Math.fround(temperature)) }),
  };
}

type RunValues = { readonly between: number; readonly of: (span: SampledSpan) => number };

/** The runs that `packRuns` would find in the values token by token. */
function runsOf(spans: readonly SampledSpan[], length: number, { between, of }: RunValues): readonly number[] {
  const runs: number[] = [];
  const add = (value: number, count: number): void => {
    if (count === 0) return;
    const last = runs.length - 1;
    if (Object.is(runs[last - 1], value)) runs[last] = (runs[last] ?? 0) + count;
    else runs.push(value, count);
  };
  let at = 0;
  for (const span of spans) {
    add(between, span.start - at);
    add(of(span), span.end - span.start);
    at = span.end;
  }
  add(between, length - at);
  return runs;
}

function concat(spans: readonly SampledSpan[]): Float32Array {
  const all = new Float32Array(spans.reduce((sum, { start, end }) => sum + end - start, 0));
  let at = 0;
  for (const { start, end, logprobs } of spans) {
    all.set(logprobs, at);
    at += end - start;
  }
  return all;
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
function toSample(
  episodeId: string,
  row: RowHead,
  { ids, logprobs }: { readonly ids: Int32Array; readonly logprobs: Float32Array },
): Sample {
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
