import { badFile, readTensorPieces, type ModelFolder, type TensorEntry } from '@agentjet/trainer/model-files';
import { headsOfRows, toHalvedRow } from '../architectures/rotated-rows.js';
import { headWeight, toGgufName } from '../architectures/tensor-names.js';
import { numValuesOf } from '../read-gguf.js';
import type { GgufTensorPlan } from './gguf-writer.js';
import type { FolderShape } from './folder-shape.js';
import { float16Type, float32Type, q80Type, type WrittenType } from './written-types.js';

/** The values of `--type`, which is the type of the matrices. Vectors are always float32. */
export type ExportType = 'f16' | 'q8_0';

/** The number of values in a piece. It is a multiple of all block sizes, so no block is split. */
const pieceValues = 1 << 19;
const largestFloat16 = 65504;

/**
 * Returns the tensors of a model folder in the form of a GGUF file. Throws BackboneError `bad_model_files` for a tensor
 * that llama.cpp does not support.
 */
export function planTensors({ tensors }: ModelFolder, shape: FolderShape, type: ExportType): readonly GgufTensorPlan[] {
  return [...tensors.values()]
    .filter(({ name }) => !(shape.isTied && name === headWeight) && !name.endsWith('.rotary_emb.inv_freq'))
    .map((entry) => planTensor(entry, shape, type));
}

function planTensor(entry: TensorEntry, shape: FolderShape, type: ExportType): GgufTensorPlan {
  const name = toGgufName(entry.name);
  if (name === undefined)
    throw badFile(
      entry.file,
      `tensor "${entry.name}" is unknown to llama.cpp in a model of architecture ${shape.architecture.name}`,
    );
  const written = typeFor(entry, type);
  const numValues = numValuesOf(entry);
  const heads = shape.architecture.pairsRows ? headsOfRows(name, shape) : undefined;
  return {
    name,
    shape: entry.shape,
    typeId: written.id,
    numBytes: (numValues / written.blockValues) * written.blockBytes,
    pieces: async function* pieces() {
      for await (const values of readTensorPieces(entry, heads === undefined ? pieceValues : numValues)) {
        checkRange(entry, written, values);
        yield written.encode(heads === undefined ? values : toPairs(values, { numRows: entry.shape[0] ?? 1, heads }));
      }
    },
  };
}

function typeFor({ shape }: TensorEntry, type: ExportType): WrittenType {
  if (shape.length === 1) return float32Type;
  return type === 'q8_0' && (shape.at(-1) ?? 0) % q80Type.blockValues === 0 ? q80Type : float16Type;
}

type Rows = { readonly numRows: number; readonly heads: { readonly headDim: number } };

function toPairs(values: Float32Array, { numRows, heads }: Rows): Float32Array {
  const width = values.length / numRows;
  const paired = new Float32Array(values.length);
  for (let row = 0; row < numRows; row++) {
    const from = toHalvedRow(row, heads) * width;
    paired.set(values.subarray(from, from + width), row * width);
  }
  return paired;
}

function checkRange({ file, name }: TensorEntry, written: WrittenType, values: Float32Array): void {
  const isRight = (value: number): boolean =>
    written === float16Type ? Math.abs(value) <= largestFloat16 : Number.isFinite(value);
  const wrong = values.find((value) => !isRight(value));
  if (wrong === undefined) return;
  const why = Number.isFinite(wrong) ? 'which float16 cannot hold. Export with --type q8_0' : 'which is not finite';
  throw badFile(file, `tensor "${name}" holds ${wrong}, ${why}`);
}
