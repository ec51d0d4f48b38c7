import { open, type FileHandle } from 'node:fs/promises';
import path from 'node:path';
import { BackboneError, toErrorMessage } from '@agentjet/core';
import { badFile } from '@agentjet/trainer/model-files';
import { HeaderCursor, HeaderEnds, NotGguf, type GgufValue } from './header-cursor.js';
import { findTensorType } from './types/registrations.js';

/**
 * Reads the header of a little-endian GGUF file of version 2 or 3. The header has the magic word, counts, the metadata
 * and a list of tensors. After it come the tensors, each at a multiple of the alignment.
 */

export type GgufTensor = {
  readonly name: string;
  /** The shape in the order of a model folder, rows first. A GGUF file has the opposite order. */
  readonly shape: readonly number[];
  readonly typeId: number;
  /** Position of the first byte in the file. */
  readonly start: number;
};

export type GgufFile = {
  readonly file: string;
  readonly metadata: ReadonlyMap<string, GgufValue>;
  readonly tensors: ReadonlyMap<string, GgufTensor>;
};

const magic = 0x46554747;
const defaultAlignment = 32;
/** The number of bytes to read first. They hold the header of most models. A longer header is read again as a whole. */
const firstBytes = 16 << 20;
const longestHeader = 2 ** 30;
const mostDimensions = 8;

/**
 * Reads the header. Rejects with a BackboneError `bad_model_files` that names the file if the header is wrong, or if
 * the file is too short for its tensors.
 */
export async function readGguf(file: string): Promise<GgufFile> {
  const handle = await open(file, 'r').catch((error: unknown) => {
    throw badFile(file, toErrorMessage(error), error);
  });
  try {
    const { size } = await handle.stat();
    return await readHeader(handle, file, size);
  } catch (error) {
    if (error instanceof BackboneError) throw error;
    throw badFile(file, toErrorMessage(error), error);
  } finally {
    await handle.close();
  }
}

async function readHeader(handle: FileHandle, file: string, size: number): Promise<GgufFile> {
  for (let length = Math.min(size, firstBytes); ; length = Math.min(size, length * 4, longestHeader)) {
    const bytes = Buffer.alloc(length);
    await handle.read(bytes, 0, length, 0);
    try {
      const parsed = parseHeader(file, new HeaderCursor(bytes));
      checkSize(parsed, size);
      return parsed;
    } catch (error) {
      if (!(error instanceof HeaderEnds)) throw error;
      if (length < Math.min(size, longestHeader)) continue;
      throw badFile(file, `it is truncated: its ${size} bytes end within the header. Copy or download it again`);
    }
  }
}

function parseHeader(file: string, cursor: HeaderCursor): GgufFile {
  checkMagic(cursor.uint32());
  checkVersion(cursor.uint32());
  const numTensors = cursor.uint64();
  const numKeys = cursor.uint64();
  const metadata = new Map<string, GgufValue>();
  for (let index = 0; index < numKeys; index++) {
    const key = cursor.string();
    if (metadata.has(key)) throw new NotGguf(`it has the metadata key "${key}" twice`);
    metadata.set(key, cursor.value(cursor.uint32()));
  }
  refuseShards(file, metadata);
  const alignment = alignmentOf(metadata);
  const described = readDescriptions(cursor, numTensors);
  const contentStart = Math.ceil(cursor.at / alignment) * alignment;
  const tensors = new Map<string, GgufTensor>();
  for (const { offset, ...tensor } of described) {
    if (offset % alignment !== 0) throw new NotGguf(`tensor "${tensor.name}" is not aligned to ${alignment} bytes`);
    if (tensors.has(tensor.name)) throw new NotGguf(`it has tensor "${tensor.name}" twice`);
    tensors.set(tensor.name, { ...tensor, start: contentStart + offset });
  }
  return { file, metadata, tensors };
}

function checkMagic(word: number): void {
  if (word === magic) return;
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(word);
  throw new NotGguf(
    `it is not a GGUF file: it begins with ${JSON.stringify(bytes.toString('latin1'))}, not with "GGUF"`,
  );
}

function checkVersion(version: number): void {
  if (version === 2 || version === 3) return;
  if (version !== 0 && (version & 0xffff) === 0)
    throw new NotGguf(
      'it is a big-endian GGUF file; only little-endian ones are read. Convert it with gguf-convert-endian',
    );
  throw new NotGguf(
    `it has GGUF version ${version}; versions 2 and 3 are read. Convert the model again with a newer llama.cpp`,
  );
}

function refuseShards(file: string, metadata: ReadonlyMap<string, GgufValue>): void {
  const count = metadata.get('split.count') ?? 0;
  if (Number(count) < 2) return;
  throw new NotGguf(
    `it is one of ${count} parts of a model. Join them with \`llama-gguf-split --merge ${path.basename(file)} whole.gguf\``,
  );
}

function alignmentOf(metadata: ReadonlyMap<string, GgufValue>): number {
  const alignment = metadata.get('general.alignment') ?? defaultAlignment;
  if (typeof alignment === 'number' && alignment > 0 && alignment % 8 === 0) return alignment;
  throw new NotGguf(`its general.alignment is ${String(alignment)}, not a multiple of 8`);
}

type Description = Omit<GgufTensor, 'start'> & { readonly offset: number };

function readDescriptions(cursor: HeaderCursor, count: number): readonly Description[] {
  const found: Description[] = [];
  for (let index = 0; index < count; index++) {
    const name = cursor.string();
    const numDimensions = cursor.uint32();
    if (numDimensions > mostDimensions) throw new NotGguf(`tensor "${name}" has ${numDimensions} dimensions`);
    const shape = Array.from({ length: numDimensions }, () => cursor.uint64()).reverse();
    found.push({ name, shape, typeId: cursor.uint32(), offset: cursor.uint64() });
  }
  return found;
}

export function numValuesOf({ shape }: Pick<GgufTensor, 'shape'>): number {
  return shape.reduce((product, size) => product * size, 1);
}

/** The size of an unsupported type is unknown, so only the position of the tensor's first byte is checked. */
function checkSize({ file, tensors }: GgufFile, size: number): void {
  let previous = { name: '', end: 0 };
  for (const { name, shape, typeId, start } of [...tensors.values()].sort((left, right) => left.start - right.start)) {
    const type = findTensorType(typeId);
    const end = start + (type === undefined ? 0 : (numValuesOf({ shape }) / type.blockValues) * type.blockBytes);
    if (end > size)
      throw badFile(
        file,
        `it is truncated: tensor "${name}" ends at byte ${end} of ${size}. Copy or download it again`,
      );
    if (start < previous.end)
      throw badFile(file, `it is damaged: tensors "${previous.name}" and "${name}" have the same bytes`);
    previous = { name, end };
  }
}
