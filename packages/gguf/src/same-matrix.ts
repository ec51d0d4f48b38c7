import { bfloat16ToFloat32, float16ToFloat32 } from '@agentjet/trainer/model-files';
import type { GgufTensor } from './read-gguf.js';
import { readKeptPieces, typeOf } from './tensor-pieces.js';

/**
 * The largest difference between two precisions of one matrix. Rounding to four bits changes values by about 8%. Two
 * matrices that were trained separately differ by over 100%.
 */
const largestDifference = 0.15;

/**
 * Whether two tensors of the same shape are one matrix in two precisions. Some converters write the head of a tied
 * model a second time. Only the first rows are compared.
 */
export async function isSameMatrix(file: string, left: GgufTensor, right: GgufTensor): Promise<boolean> {
  const [first, second] = [await readFirstValues(file, left), await readFirstValues(file, right)];
  const isRounded = [left, right].some((tensor) => typeOf(file, tensor).dequantize !== undefined);
  let [difference, size] = [0, 0];
  for (const [index, value] of first.entries()) {
    difference += (value - (second[index] ?? 0)) ** 2;
    size += value ** 2;
  }
  return difference <= (isRounded ? largestDifference ** 2 * size : 0);
}

async function readFirstValues(file: string, tensor: GgufTensor): Promise<Float32Array> {
  for await (const bytes of readKeptPieces(file, tensor)) {
    const { keptAs } = typeOf(file, tensor);
    if (keptAs === 'F32') return new Float32Array(bytes.buffer, bytes.byteOffset, bytes.length / 4);
    const values = new Float32Array(bytes.length / 2);
    const convert = keptAs === 'BF16' ? bfloat16ToFloat32 : float16ToFloat32;
    convert(new Uint16Array(bytes.buffer, bytes.byteOffset, values.length), values);
    return values;
  }
  return new Float32Array(0);
}
