import type { FileHandle } from 'node:fs/promises';
import { isJsonObject, parseJsonObject } from '@agentjet/core';

/** The position of a tensor in a safetensors file, in bytes from the beginning of the file. */
export type TensorRange = {
  readonly name: string;
  readonly dtype: string;
  readonly start: number;
  readonly end: number;
};

/** The limit of the format for a header, in bytes. A file with a larger header is invalid. */
const maxHeaderBytes = 100_000_000;

async function readHeader(handle: FileHandle, size: number): Promise<Buffer | undefined> {
  const { buffer: prefix, bytesRead } = await handle.read(Buffer.alloc(8), 0, 8, 0);
  if (bytesRead < 8) return undefined;
  const length = Number(prefix.readBigUInt64LE());
  if (length > Math.min(maxHeaderBytes, size - 8)) return undefined;
  return (await handle.read(Buffer.alloc(length), 0, length, 8)).buffer;
}

function toRange(name: string, entry: unknown, base: number): readonly TensorRange[] {
  if (name === '__metadata__' || !isJsonObject(entry)) return [];
  const { dtype, data_offsets: offsets } = entry;
  if (typeof dtype !== 'string' || !Array.isArray(offsets)) return [];
  const [start, end]: readonly unknown[] = offsets;
  return typeof start === 'number' && typeof end === 'number'
    ? [{ name, dtype, start: base + start, end: base + end }]
    : [];
}

/**
 * Returns the tensors of a safetensors file in the order of their positions, or none if the file has another format.
 */
export async function readTensorRanges(handle: FileHandle, size: number): Promise<readonly TensorRange[]> {
  const header = await readHeader(handle, size);
  const entries = header === undefined ? undefined : parseJsonObject(header.toString());
  if (header === undefined || entries === undefined) return [];
  return Object.entries(entries)
    .flatMap(([name, entry]) => toRange(name, entry, 8 + header.length))
    .toSorted((a, b) => a.start - b.start);
}
