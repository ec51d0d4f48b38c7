/**
 * Reads the fields of a protobuf message by number. The definitions of the four protobuf messages of the Tinker API are
 * not published, so code cannot be generated from them.
 */

import { toErrorMessage } from '@agentjet/core';
import { BinaryReader, WireType } from '@bufbuild/protobuf/wire';
import { protocolError } from '../row-data.js';

export type ProtoField = {
  readonly number: number;
  /** The value of a field without a length. */
  readonly value: number;
  /** The bytes of a field with a length; empty for others. */
  readonly bytes: Buffer;
};

/** Throws BackboneError `protocol` for bytes that are not whole fields. */
export function readFields(bytes: Buffer): ProtoField[] {
  const reader = new BinaryReader(bytes);
  const fields: ProtoField[] = [];
  try {
    while (reader.pos < reader.len) {
      const [number, type] = reader.tag();
      fields.push({ number, ...readField(reader, type) });
    }
  } catch (error) {
    throw protocolError(`its protobuf cannot be read at byte ${reader.pos} of ${reader.len}: ${toErrorMessage(error)}`);
  }
  return fields;
}

const none = Buffer.alloc(0);

/** Reads one field. Numbers above 2^53 are rounded, but no field that is read here has one. */
function readField(reader: BinaryReader, type: WireType): Omit<ProtoField, 'number'> {
  switch (type) {
    case WireType.Varint:
      return { value: Number(reader.uint64()), bytes: none };
    case WireType.Bit64:
      return { value: reader.double(), bytes: none };
    case WireType.Bit32:
      return { value: reader.float(), bytes: none };
    case WireType.LengthDelimited:
      return { value: 0, bytes: Buffer.from(reader.bytes()) };
    default:
      throw new Error(`a field has the type ${type}`);
  }
}
