import { crc32 } from 'node:zlib';
import { StoreError } from '../store/store-error.js';
import { restore } from './open-database.js';

/** Returns a checksum of four bytes, followed by the value as JSON. The checksum also covers the name. */
export function toValue(value: unknown, name: string): Buffer {
  const bytes = Buffer.from(`    ${JSON.stringify(value)}`);
  bytes.writeUInt32LE(crc32(bytes.subarray(4), crc32(name)), 0);
  return bytes;
}

/** Throws StoreError `damaged` if the bytes are not what `toValue` returned for this name. */
export function fromValue(bytes: Buffer, name: string, file: string): unknown {
  const text = bytes.subarray(4);
  if (bytes.length < 4 || bytes.readUInt32LE(0) !== crc32(text, crc32(name)))
    throw new StoreError('damaged', `${file} is damaged: the checksum of "${name}" does not match. ${restore}`);
  return JSON.parse(text.toString()) as unknown;
}
