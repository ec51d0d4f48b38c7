import { open, type FileHandle } from 'node:fs/promises';

/** A value of the metadata, and its type in the file. */
export type MetadataValue =
  | { readonly type: 'string'; readonly value: string }
  | { readonly type: 'uint32' | 'float32'; readonly value: number }
  | { readonly type: 'bool'; readonly value: boolean }
  | { readonly type: 'strings'; readonly value: readonly string[] }
  | { readonly type: 'int32s'; readonly value: readonly number[] };

/** A tensor whose bytes are made in pieces, so that memory never holds the whole tensor. */
export type GgufTensorPlan = {
  readonly name: string;
  /** The shape in the order of a model folder, rows first. */
  readonly shape: readonly number[];
  readonly typeId: number;
  readonly numBytes: number;
  readonly pieces: () => Iterable<Uint8Array> | AsyncIterable<Uint8Array>;
};

export type GgufContent = {
  readonly metadata: readonly (readonly [key: string, value: MetadataValue])[];
  readonly tensors: readonly GgufTensorPlan[];
};

const alignment = 32;
const aligned = (bytes: number): number => Math.ceil(bytes / alignment) * alignment;

/** Writes a GGUF file of version 3, little endian, and flushes it. Rejects if the pieces of a tensor reject. */
export async function writeGguf(file: string, { metadata, tensors }: GgufContent): Promise<void> {
  const handle = await open(file, 'w');
  try {
    const header = Buffer.concat([...headerOf(metadata, tensors)]);
    await handle.writeFile(pad(header));
    for (const tensor of tensors) await writeTensor(handle, tensor);
    await handle.sync();
  } finally {
    await handle.close();
  }
}

async function writeTensor(handle: FileHandle, { numBytes, pieces }: GgufTensorPlan): Promise<void> {
  for await (const piece of pieces()) await handle.writeFile(piece);
  await handle.writeFile(Buffer.alloc(aligned(numBytes) - numBytes));
}

function pad(bytes: Buffer): Buffer {
  return Buffer.concat([bytes, Buffer.alloc(aligned(bytes.length) - bytes.length)]);
}

function* headerOf(metadata: GgufContent['metadata'], tensors: GgufContent['tensors']): Generator<Buffer> {
  yield Buffer.from('GGUF');
  yield uint32(3);
  yield uint64(tensors.length);
  yield uint64(metadata.length);
  for (const [key, value] of metadata) yield Buffer.concat([text(key), typed(value)]);
  let offset = 0;
  for (const { name, shape, typeId, numBytes } of tensors) {
    const sizes = shape.toReversed().map(uint64);
    yield Buffer.concat([text(name), uint32(shape.length), ...sizes, uint32(typeId), uint64(offset)]);
    offset += aligned(numBytes);
  }
}

function typed(given: MetadataValue): Buffer {
  switch (given.type) {
    case 'uint32':
      return Buffer.concat([uint32(4), uint32(given.value)]);
    case 'float32':
      return Buffer.concat([uint32(6), float32(given.value)]);
    case 'bool':
      return Buffer.concat([uint32(7), Buffer.of(given.value ? 1 : 0)]);
    case 'string':
      return Buffer.concat([uint32(8), text(given.value)]);
    case 'strings':
      return Buffer.concat([uint32(9), uint32(8), uint64(given.value.length), ...given.value.map(text)]);
    case 'int32s':
      return Buffer.concat([uint32(9), uint32(5), uint64(given.value.length), ...given.value.map(uint32)]);
  }
}

function text(value: string): Buffer {
  const bytes = Buffer.from(value);
  return Buffer.concat([uint64(bytes.length), bytes]);
}

function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value);
  return bytes;
}

function uint64(value: number): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64LE(BigInt(value));
  return bytes;
}

function float32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeFloatLE(value);
  return bytes;
}
