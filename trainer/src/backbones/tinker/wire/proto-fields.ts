/**
 * The fields of a protobuf message. The Tinker API has four messages as protobuf whose definitions are not published,
 * so no code is generated: the fields are written and read by number.
 */

import { protocolError } from '../row-data.js';

export type ProtoField = {
  readonly number: number;
  /** The value of a field without a length. */
  readonly value: number;
  /** The bytes of a field with a length; empty for others. */
  readonly bytes: Buffer;
};

const varint = 0;
const fixed64 = 1;
const lengthDelimited = 2;
const fixed32 = 5;

export function integerField(number: number, value: number): Buffer {
  return Buffer.concat([toVarint((number << 3) | varint), toVarint(value)]);
}

export function doubleField(number: number, value: number): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeDoubleLE(value);
  return Buffer.concat([toVarint((number << 3) | fixed64), bytes]);
}

/** Writes a string, bytes or a message. */
export function bytesField(number: number, content: Uint8Array | string): Buffer {
  const bytes = Buffer.from(content);
  return Buffer.concat([toVarint((number << 3) | lengthDelimited), toVarint(bytes.length), bytes]);
}

export function message(...fields: readonly Buffer[]): Buffer {
  return Buffer.concat(fields);
}

/** Throws BackboneError `protocol` for bytes that are not whole fields. */
export function readFields(bytes: Buffer): ProtoField[] {
  const fields: ProtoField[] = [];
  for (let at = 0; at < bytes.length; ) {
    const key = readVarint(bytes, at);
    const field = readField(bytes, key.end, key.value % 8);
    fields.push({ number: Math.floor(key.value / 8), value: field.value, bytes: field.bytes });
    at = field.end;
  }
  return fields;
}

const none = Buffer.alloc(0);

function readField(bytes: Buffer, at: number, type: number): Omit<ProtoField, 'number'> & { readonly end: number } {
  switch (type) {
    case varint:
      return { ...readVarint(bytes, at), bytes: none };
    case fixed64:
      return { value: part(bytes, at, 8).readDoubleLE(), bytes: none, end: at + 8 };
    case fixed32:
      return { value: part(bytes, at, 4).readFloatLE(), bytes: none, end: at + 4 };
    case lengthDelimited: {
      const { value: length, end: start } = readVarint(bytes, at);
      return { value: 0, bytes: part(bytes, start, length), end: start + length };
    }
    default:
      throw protocolError(`its protobuf has a field of type ${type} at byte ${at}`);
  }
}

function part(bytes: Buffer, start: number, length: number): Buffer {
  if (start + length > bytes.length)
    throw protocolError(`its protobuf ends at byte ${bytes.length}, within a field of ${length} bytes`);
  return bytes.subarray(start, start + length);
}

/** Values above 2^53 are rounded. No field that is read here has one. */
function readVarint(bytes: Buffer, start: number): { readonly value: number; readonly end: number } {
  let value = 0;
  for (let at = start; at < bytes.length && at - start < 10; at++) {
    const byte = bytes[at] ?? 0;
    value += (byte % 128) * 2 ** (7 * (at - start));
    if (byte < 128) return { value, end: at + 1 };
  }
  throw protocolError(`its protobuf ends within a number at byte ${start}`);
}

function toVarint(value: number): Buffer {
  const bytes: number[] = [];
  for (let rest = value; ; rest = Math.floor(rest / 128)) {
    if (rest < 128) return Buffer.from([...bytes, rest]);
    bytes.push((rest % 128) + 128);
  }
}
