import { open, type FileHandle } from 'node:fs/promises';
import { hasNonFinite } from '@agentjet/run-folder';
import { badFile } from '@agentjet/trainer/model-files';
import { nameTensorType, findTensorType, tensorTypes } from './types/registrations.js';
import type { Dequantize, TensorType } from './types/tensor-type.js';
import { numValuesOf, type GgufTensor } from './read-gguf.js';

/** The number of values in memory at a time, unless one row has more. */
const pieceValues = 1 << 19;

/**
 * Returns the type of a tensor. Throws BackboneError `bad_model_files` for an unsupported type, and for rows that are
 * not a whole number of blocks.
 */
export function typeOf(file: string, { name, typeId, shape }: GgufTensor): TensorType {
  const type = findTensorType(typeId);
  if (type === undefined)
    throw badFile(
      file,
      `tensor "${name}" has type ${nameTensorType(typeId)}; the supported types are ${tensorTypes.map((each) => each.name).join(', ')}. Get the model in one of these, such as Q4_K_M or Q8_0`,
    );
  const width = shape.at(-1) ?? 1;
  if (width % type.blockValues === 0) return type;
  throw badFile(
    file,
    `tensor "${name}" has rows of ${width} values, which are not blocks of ${type.blockValues} (${type.name})`,
  );
}

/**
 * Yields the values of a tensor row by row, in the dtype of the model folder (`keptAs` of its type). `rowAt` maps a row
 * of the folder to a row of the file. Default: the order of the file.
 */
export async function* readKeptPieces(
  file: string,
  tensor: GgufTensor,
  rowAt?: (row: number) => number,
): AsyncGenerator<Uint8Array> {
  const type = typeOf(file, tensor);
  const width = tensor.shape.at(-1) ?? 1;
  const numRows = numValuesOf(tensor) / width;
  const rowBytes = (width / type.blockValues) * type.blockBytes;
  const rowsAtOnce = rowAt === undefined ? Math.max(1, Math.floor(pieceValues / width)) : numRows;
  const handle = await open(file, 'r');
  try {
    for (let row = 0; row < numRows; row += rowsAtOnce) {
      const count = Math.min(rowsAtOnce, numRows - row);
      const bytes = await readExactly(handle, { file, start: tensor.start + row * rowBytes, length: count * rowBytes });
      yield toKept(file, { tensor, type, bytes: rowAt === undefined ? bytes : pickRows(bytes, { rowBytes, rowAt }) });
    }
  } finally {
    await handle.close();
  }
}

type Place = { readonly file: string; readonly start: number; readonly length: number };

async function readExactly(handle: FileHandle, { file, start, length }: Place): Promise<Uint8Array> {
  const bytes = new Uint8Array(length);
  for (let done = 0; done < length; ) {
    const { bytesRead } = await handle.read(bytes, done, length - done, start + done);
    if (bytesRead === 0) throw badFile(file, 'it has become shorter while it was read');
    done += bytesRead;
  }
  return bytes;
}

function pickRows(
  bytes: Uint8Array,
  { rowBytes, rowAt }: { readonly rowBytes: number; readonly rowAt: (row: number) => number },
): Uint8Array {
  const picked = new Uint8Array(bytes.length);
  for (let row = 0; row < bytes.length / rowBytes; row++) {
    const from = rowAt(row) * rowBytes;
    picked.set(bytes.subarray(from, from + rowBytes), row * rowBytes);
  }
  return picked;
}

type Blocks = { readonly tensor: GgufTensor; readonly type: TensorType; readonly bytes: Uint8Array };

function toKept(file: string, { tensor, type, bytes }: Blocks): Uint8Array {
  const kept = type.dequantize === undefined ? bytes : dequantized(type, bytes, type.dequantize);
  if (!hasNonFinite(kept, type.keptAs)) return kept;
  throw badFile(file, `tensor "${tensor.name}" holds a number that is not finite: the file is damaged`);
}

function dequantized({ blockBytes, blockValues }: TensorType, bytes: Uint8Array, dequantize: Dequantize): Uint8Array {
  const values = new Float32Array((bytes.length / blockBytes) * blockValues);
  dequantize(bytes, values);
  return new Uint8Array(values.buffer);
}
