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

/** The largest values of the types. A block of Q8_0 has a float16 scale, and its values are at most 127 times the scale. */
const largest = new Map([
  [float16Type, largestFloat16],
  [q80Type, largestFloat16 * 127],
]);

function checkRange(entry: TensorEntry, written: WrittenType, values: Float32Array): void {
  const most = largest.get(written) ?? Number.MAX_VALUE;
  const wrong = values.find((value) => !(Math.abs(value) <= most));
  if (wrong === undefined) return;
  throw badFile(entry.file, `tensor "${entry.name}" holds ${wrong}, ${describeWrong(entry, written, wrong)}`);
}

function describeWrong(entry: TensorEntry, written: WrittenType, value: number): string {
  if (!Number.isFinite(value)) return 'which is not finite';
  const isHeldByQ80 = typeFor(entry, 'q8_0') === q80Type && Math.abs(value) <= largestFloat16 * 127;
  const repair = isHeldByQ80 ? 'Export with --type q8_0' : 'Export a folder instead';
  return `which ${written === float16Type ? 'float16' : 'Q8_0'} cannot hold. ${repair}`;
}
