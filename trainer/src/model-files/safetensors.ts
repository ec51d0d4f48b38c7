/**
 * The safetensors format has 8 bytes with the length of a JSON header (little endian), the header, and the tensors.
 * Each tensor is read straight into its destination, so memory never holds a model twice.
 */

import { open } from 'node:fs/promises';
import type { FileHandle } from 'node:fs/promises';
import path from 'node:path';
import { BackboneError, isJsonObject, toErrorMessage, codeOfError } from '@agentjet/core';
import { bfloat16ToFloat32, float16ToFloat32, float32ToBfloat16, float32ToFloat16 } from './half-precision.js';

export type TensorDtype = 'F32' | 'F16' | 'BF16';

export type TensorEntry = {
  /** The file that contains the tensor. */
  readonly file: string;
  readonly name: string;
  readonly dtype: string;
  readonly shape: readonly number[];
  /** The position of the tensor's first byte in the file. */
  readonly start: number;
  readonly numBytes: number;
};

export type NamedTensor = { readonly name: string; readonly shape: readonly number[]; readonly data: Float32Array };

const bytesPerElement: { readonly [dtype in TensorDtype]: number } = { F32: 4, F16: 2, BF16: 2 };
/** The maximum length of a header, which the format defines. */
const maxHeaderBytes = 100_000_000;
/** The maximum number of bytes of one read call, which must be less than 2 GiB. */
const maxReadBytes = 2 ** 30;

/**
 * Reads the header of a file: the names, shapes and positions of its tensors. Rejects with BackboneError
 * `bad_model_files`, with the file in its message.
 */
export async function readTensorEntries(file: string): Promise<readonly TensorEntry[]> {
  return withFile(file, async (handle) => {
    const { size } = await handle.stat();
    const header = await readHeader(handle, file, size);
    const entries = Object.entries(header.tensors).filter(([name]) => name !== '__metadata__');
    return entries.map(([name, description]) =>
      toEntry(file, { name, description, contentStart: header.contentStart, fileSize: size }),
    );
  });
}

/** Fills `destination` with a tensor's elements as float32. */
export async function readTensorInto(entry: TensorEntry, destination: Float32Array): Promise<void> {
  const dtype = supportedDtypeOf(entry);
  await withFile(entry.file, (handle) => readValues(handle, { entry, dtype, start: entry.start }, destination));
}

/**
 * Yields a tensor's elements as float32, in order. Each piece has `numValues` elements; the last one may have fewer.
 */
export async function* readTensorPieces(entry: TensorEntry, numValues: number): AsyncGenerator<Float32Array> {
  const dtype = supportedDtypeOf(entry);
  const total = entry.numBytes / bytesPerElement[dtype];
  for (let done = 0; done < total; done += numValues) {
    const piece = new Float32Array(Math.min(numValues, total - done));
    const start = entry.start + done * bytesPerElement[dtype];
    await withFile(entry.file, (handle) => readValues(handle, { entry, dtype, start }, piece));
    yield piece;
  }
}

function supportedDtypeOf({ file, name, dtype }: TensorEntry): TensorDtype {
  if (isSupportedDtype(dtype)) return dtype;
  throw badFile(file, `tensor "${name}" has dtype ${dtype}; supported: F32, F16, BF16`);
}

type ValuesPlace = { readonly entry: TensorEntry; readonly dtype: TensorDtype; readonly start: number };

async function readValues(handle: FileHandle, { entry, dtype, start }: ValuesPlace, into: Float32Array): Promise<void> {
  const place = { ...entry, start };
  if (dtype === 'F32') return readFully(handle, new Uint8Array(into.buffer, into.byteOffset, into.byteLength), place);
  const halves = new Uint16Array(into.length);
  await readFully(handle, new Uint8Array(halves.buffer), place);
  const convert = dtype === 'BF16' ? bfloat16ToFloat32 : float16ToFloat32;
  convert(halves, into);
}

/** Writes a tensor's elements to its place in its file, in the dtype of the file. */
export async function overwriteTensor(entry: TensorEntry, values: Float32Array): Promise<void> {
  const handle = await open(entry.file, 'r+');
  try {
    const bytes = toBytes(entry, values);
    let done = 0;
    while (done < bytes.length) {
      const { bytesWritten } = await handle.write(bytes, done, bytes.length - done, entry.start + done);
      done += bytesWritten;
    }
  } finally {
    await handle.close();
  }
}

function toBytes(entry: TensorEntry, values: Float32Array): Uint8Array {
  const dtype = supportedDtypeOf(entry);
  if (dtype === 'F32') return new Uint8Array(values.buffer, values.byteOffset, values.byteLength);
  const halves = new Uint16Array(values.length);
  const convert = dtype === 'BF16' ? float32ToBfloat16 : float32ToFloat16;
  convert(values, halves);
  return new Uint8Array(halves.buffer);
}

/**
 * Writes float32 tensors in the order given. `metadata` values must be strings; transformers requires `format: 'pt'`.
 */
export async function writeSafetensors(
  file: string,
  tensors: readonly NamedTensor[],
  metadata?: { readonly [key: string]: string },
): Promise<void> {
  const planned = tensors.map(({ name, shape, data }): PlannedTensor => {
    const bytes = new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
    return { name, dtype: 'F32', shape, pieces: () => [bytes] };
  });
  await writeTensorsInPieces(file, planned, metadata);
}

/** A tensor that is written piece by piece, so memory never contains all of it. */
export type PlannedTensor = {
  readonly name: string;
  readonly dtype: TensorDtype;
  readonly shape: readonly number[];
  /** The bytes of the tensor, in order. */
  readonly pieces: () => Iterable<Uint8Array> | AsyncIterable<Uint8Array>;
};

/** Writes tensors in the order given. If a tensor's pieces reject, it rejects with the same error. */
export async function writeTensorsInPieces(
  file: string,
  tensors: readonly PlannedTensor[],
  metadata: { readonly [key: string]: string } = { format: 'pt' },
): Promise<void> {
  const handle = await open(file, 'w');
  try {
    await handle.writeFile(toHeader(tensors, metadata));
    for (const { pieces } of tensors) for await (const piece of pieces()) await handle.writeFile(piece);
  } finally {
    await handle.close();
  }
}

function toHeader(tensors: readonly PlannedTensor[], metadata: { readonly [key: string]: string }): Buffer {
  const header: { [name: string]: unknown } = { __metadata__: metadata };
  let offset = 0;
  for (const { name, dtype, shape } of tensors) {
    const numBytes = shape.reduce((product, size) => product * size, bytesPerElement[dtype]);
    header[name] = { dtype, shape, data_offsets: [offset, offset + numBytes] };
    offset += numBytes;
  }
  const json = Buffer.from(JSON.stringify(header));
  const padded = Buffer.concat([json, Buffer.alloc((8 - (json.length % 8)) % 8, ' ')]);
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(padded.length));
  return Buffer.concat([length, padded]);
}

export function badFile(file: string, problem: string, cause?: unknown): BackboneError {
  return new BackboneError('bad_model_files', `Cannot read ${file}: ${problem}.`, { cause });
}

type Header = { readonly tensors: { readonly [name: string]: unknown }; readonly contentStart: number };

async function readHeader(handle: FileHandle, file: string, fileSize: number): Promise<Header> {
  if (fileSize < 8) throw badFile(file, `it is truncated: ${fileSize} bytes, but the header alone needs more`);
  const prefix = Buffer.alloc(8);
  await handle.read(prefix, 0, 8, 0);
  const headerBytes = prefix.readBigUInt64LE();
  if (headerBytes > maxHeaderBytes) throw badFile(file, `it is not a safetensors file (header length ${headerBytes})`);
  const contentStart = 8 + Number(headerBytes);
  if (contentStart > fileSize)
    throw badFile(file, `it is truncated: ${fileSize} bytes, but its header ends at byte ${contentStart}`);
  const json = Buffer.alloc(contentStart - 8);
  await handle.read(json, 0, json.length, 8);
  return { tensors: parseHeader(file, json.toString('utf8')), contentStart };
}

function parseHeader(file: string, json: string): Header['tensors'] {
  let header: unknown;
  try {
    header = JSON.parse(json);
  } catch (error) {
    throw badFile(file, 'its header is not JSON', error);
  }
  if (!isJsonObject(header)) throw badFile(file, 'its header is not a JSON object');
  return header;
}

type RawEntry = {
  readonly name: string;
  readonly description: unknown;
  readonly contentStart: number;
  readonly fileSize: number;
};

function toEntry(file: string, { name, description, contentStart, fileSize }: RawEntry): TensorEntry {
  const {
    dtype,
    shape,
    data_offsets: offsets,
  } = (description ?? {}) as { readonly dtype?: unknown; readonly shape?: unknown; readonly data_offsets?: unknown };
  if (typeof dtype !== 'string' || !isWholeNumbers(shape) || !isWholeNumbers(offsets)) {
    throw badFile(file, `the header entry of tensor "${name}" has no dtype, shape or data_offsets`);
  }
  const [begin = 0, end = 0] = offsets;
  if (contentStart + end > fileSize) {
    throw badFile(
      file,
      `it is truncated: tensor "${name}" ends at byte ${contentStart + end} of ${fileSize}. Copy or download it again`,
    );
  }
  const elements = shape.reduce((product, dim) => product * dim, 1);
  if (isSupportedDtype(dtype) && end - begin !== elements * bytesPerElement[dtype]) {
    throw badFile(
      file,
      `tensor "${name}" has ${end - begin} bytes, but shape [${shape.join(', ')}] of ${dtype} needs ${elements * bytesPerElement[dtype]}`,
    );
  }
  return { file, name, dtype, shape, start: contentStart + begin, numBytes: end - begin };
}

function isSupportedDtype(dtype: string): dtype is TensorDtype {
  return Object.hasOwn(bytesPerElement, dtype);
}

function isWholeNumbers(value: unknown): value is readonly number[] {
  return Array.isArray(value) && value.every((item) => Number.isSafeInteger(item) && item >= 0);
}

async function readFully(handle: FileHandle, into: Uint8Array, entry: TensorEntry): Promise<void> {
  let done = 0;
  while (done < into.length) {
    const { bytesRead } = await handle.read(into, done, Math.min(into.length - done, maxReadBytes), entry.start + done);
    if (bytesRead === 0) throw badFile(entry.file, `it ended within tensor "${entry.name}"`);
    done += bytesRead;
  }
}

async function withFile<Result>(file: string, use: (handle: FileHandle) => Promise<Result>): Promise<Result> {
  const handle = await openForReading(file);
  try {
    return await use(handle);
  } catch (error) {
    throw error instanceof BackboneError ? error : badFile(file, toErrorMessage(error), error);
  } finally {
    await handle.close();
  }
}

async function openForReading(file: string): Promise<FileHandle> {
  try {
    return await open(file, 'r');
  } catch (error) {
    const isMissing = codeOfError(error) === 'ENOENT';
    throw badFile(
      file,
      isMissing ? `there is no ${path.basename(file)} in ${path.dirname(file)}` : toErrorMessage(error),
      error,
    );
  }
}
