/** Reads protobuf answers into the shape that they have as JSON. */

import type { JsonObject } from '@agentjet/core';
import { protocolError } from '../row-data.js';
import { readFields, type ProtoField } from './proto-fields.js';

/** The two kinds of futures whose answers can be protobuf. */
export type AnswerKind = 'rows' | 'sample';

/** Throws BackboneError `protocol` for bytes that are not such a message. */
export function readProtobuf(bytes: Uint8Array, kind: AnswerKind): JsonObject {
  const whole = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return kind === 'rows' ? readRowOutputs(whole) : readSamples(whole);
}

/** Reads a ForwardBackwardOutput, which has the rows in one or several records. */
function readRowOutputs(bytes: Buffer): JsonObject {
  const fields = readFields(bytes);
  const records = of(fields, 2).map((record) => readRecord(record.bytes));
  const metrics = of(fields, 3).map((entry) => {
    const parts = readFields(entry.bytes);
    return [text(parts, 1), parts.find(({ number }) => number === 2)?.value ?? 0] as const;
  });
  return {
    loss_fn_outputs: records.flat().map((logprobs) => ({ logprobs: { data: logprobs } })),
    metrics: Object.fromEntries(metrics),
  };
}

/** Reads an ArrayRecord, which has the logprobs of each of its rows. */
function readRecord(bytes: Buffer): number[][] {
  const fields = readFields(bytes);
  const entry = of(fields, 2)
    .map((found) => readFields(found.bytes))
    .find((parts) => text(parts, 1) === 'logprobs');
  if (entry === undefined) throw protocolError('its protobuf gives no "logprobs"');
  return readBatchedTensor(bytesOf(entry, 2));
}

const dtypes: Readonly<Record<number, { readonly size: number; read(data: Buffer, at: number): number }>> = {
  1: { size: 4, read: (data, at) => data.readFloatLE(at) },
  4: { size: 2, read: readBfloat16 },
};

/** Cuts the data into rows. `offsets` count bytes, and there is one more offset than there are rows. */
function readBatchedTensor(bytes: Buffer): number[][] {
  const fields = readFields(bytes);
  const type = fields.find(({ number }) => number === 3)?.value ?? 0;
  const dtype = dtypes[type];
  if (dtype === undefined) throw protocolError(`its logprobs are of type ${type}`);
  const [data, offsets] = [bytesOf(fields, 1), bytesOf(fields, 2)];
  const bounds = Array.from({ length: Math.floor(offsets.length / 8) }, (_, index) =>
    Number(offsets.readBigInt64LE(8 * index)),
  );
  return bounds.slice(1).map((end, index) => {
    const start = bounds[index] ?? 0;
    if (start < 0 || end < start || end > data.length || (end - start) % dtype.size !== 0)
      throw protocolError(`its logprobs of row ${index} are bytes ${start} to ${end} of ${data.length}`);
    return Array.from({ length: (end - start) / dtype.size }, (_, at) => dtype.read(data, start + at * dtype.size));
  });
}

/** Reads a bfloat16, which is the upper half of a float32. */
function readBfloat16(data: Buffer, at: number): number {
  const whole = Buffer.alloc(4);
  data.copy(whole, 2, at, at + 2);
  return whole.readFloatLE();
}

/** Reads a SampleResponse. */
function readSamples(bytes: Buffer): JsonObject {
  const sequences = of(readFields(bytes), 1).map((sequence) => {
    const fields = readFields(sequence.bytes);
    const [tokens, logprobs] = [bytesOf(fields, 2), bytesOf(fields, 3)];
    const isLength = fields.find(({ number }) => number === 1)?.value === 1;
    return {
      stop_reason: isLength ? 'length' : 'stop',
      tokens: Array.from({ length: Math.floor(tokens.length / 4) }, (_, at) => tokens.readInt32LE(4 * at)),
      logprobs: Array.from({ length: Math.floor(logprobs.length / 4) }, (_, at) => logprobs.readFloatLE(4 * at)),
    };
  });
  return { sequences };
}

function of(fields: readonly ProtoField[], number: number): ProtoField[] {
  return fields.filter((field) => field.number === number);
}

function bytesOf(fields: readonly ProtoField[], wanted: number): Buffer {
  return fields.find(({ number }) => number === wanted)?.bytes ?? Buffer.alloc(0);
}

function text(fields: readonly ProtoField[], number: number): string {
  return bytesOf(fields, number).toString('utf8');
}
