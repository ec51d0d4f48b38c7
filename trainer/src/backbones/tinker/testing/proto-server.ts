/** The server's side of the protobuf messages. */

import { isJsonObject, type JsonObject } from '@agentjet/core';
import { BinaryWriter, WireType } from '@bufbuild/protobuf/wire';
import { ProtobufWriter } from '../../../protobuf-writer.js';
import { readFields, type ProtoField } from '../wire/proto-fields.js';

/** Reads a ForwardBackwardRequest as the JSON body and the route that it would have. */
export function readRowRequest(bytes: Buffer): { readonly route: string; readonly body: JsonObject } {
  const fields = readFields(bytes);
  const route = one(fields, 6)?.value === 1 ? 'forward' : 'forward_backward';
  const data = fields.filter(({ number }) => number === 3).map((field) => readDatum(field.bytes));
  return {
    route,
    body: {
      model_id: textOf(fields, 1),
      seq_id: one(fields, 2)?.value ?? 0,
      [`${route}_input`]: { data, loss_fn: textOf(fields, 4) },
    },
  };
}

function readDatum(bytes: Buffer): JsonObject {
  const fields = readFields(bytes);
  const chunks = fields.filter(({ number }) => number === 1).map((field) => ({ tokens: readTokens(field.bytes) }));
  const inputs = fields
    .filter(({ number }) => number === 2)
    .map((field) => {
      const entry = readFields(field.bytes);
      return [textOf(entry, 1), { data: readTensor(one(entry, 2)?.bytes ?? Buffer.alloc(0)) }] as const;
    });
  return { model_input: { chunks }, loss_fn_inputs: Object.fromEntries(inputs) };
}

function readTokens(chunk: Buffer): number[] {
  const text = one(readFields(one(readFields(chunk), 1)?.bytes ?? Buffer.alloc(0)), 1)?.bytes ?? Buffer.alloc(0);
  return Array.from({ length: text.length / 4 }, (_, at) => text.readInt32LE(4 * at));
}

function readTensor(bytes: Buffer): number[] {
  const fields = readFields(bytes);
  const dense = one(fields, 1)?.bytes ?? Buffer.alloc(0);
  if (one(fields, 3)?.value === 1)
    return Array.from({ length: dense.length / 4 }, (_, at) => dense.readFloatLE(4 * at));
  return Array.from({ length: dense.length / 8 }, (_, at) => Number(dense.readBigInt64LE(8 * at)));
}

/** Writes the answer of a future as protobuf. Returns undefined for an answer that is always JSON. */
export function writeAnswer(answer: JsonObject): Buffer | undefined {
  const { loss_fn_outputs: outputs, sequences, metrics } = answer;
  const writer = new ProtobufWriter();
  if (Array.isArray(sequences)) {
    for (const each of sequences) writer.message(1, (sequence) => writeSequence(sequence, each));
    return Buffer.from(writer.finish());
  }
  if (!Array.isArray(outputs)) return undefined;
  const rows = outputs.map((output) => logprobsOf(output));
  writer.string(1, 'Outputs').message(2, (record) => writeRecord(record, rows));
  for (const [name, value] of Object.entries(isJsonObject(metrics) ? metrics : {})) {
    const entry = new BinaryWriter().tag(1, WireType.LengthDelimited).string(name);
    writer.bytes(3, entry.tag(2, WireType.Bit64).double(Number(value)).finish());
  }
  return Buffer.from(writer.finish());
}

function writeSequence(writer: ProtobufWriter, sequence: unknown): void {
  const { tokens, logprobs, stop_reason: reason } = isJsonObject(sequence) ? sequence : {};
  writer.int(1, reason === 'length' ? 1 : 0);
  writer.bytes(2, new Uint8Array(Int32Array.from(numbers(tokens)).buffer));
  writer.bytes(3, new Uint8Array(Float32Array.from(numbers(logprobs)).buffer));
}

function writeRecord(writer: ProtobufWriter, rows: readonly (readonly number[])[]): void {
  const ends = rows.reduce<number[]>((found, row) => [...found, (found.at(-1) ?? 0) + 4 * row.length], [0]);
  writer.message(2, (column) =>
    column.string(1, 'logprobs').message(2, (tensor) => {
      tensor.bytes(1, new Uint8Array(Float32Array.from(rows.flat()).buffer));
      tensor.bytes(2, new Uint8Array(BigInt64Array.from(ends, BigInt).buffer)).int(3, 1);
    }),
  );
  writer.int(3, rows.length);
}

function logprobsOf(output: unknown): readonly number[] {
  const tensor = isJsonObject(output) ? output['logprobs'] : undefined;
  return numbers(isJsonObject(tensor) ? tensor['data'] : undefined);
}

function numbers(values: unknown): number[] {
  return Array.isArray(values) ? values.map(Number) : [];
}

function one(fields: readonly ProtoField[], number: number): ProtoField | undefined {
  return fields.find((field) => field.number === number);
}

function textOf(fields: readonly ProtoField[], number: number): string {
  return one(fields, number)?.bytes.toString('utf8') ?? '';
}
