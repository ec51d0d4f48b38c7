/**
 * Stores a matrix in 8 bits per weight, as ONNX Runtime's MatMulNBits reads it: a row is cut into blocks, and each block
 * has a scale.
 */

/** The number of weights that share a scale. */
export const blockSize = 32;
/** The code of weight 0. */
export const zeroCode = 128;
const largestCode = 127;
/** Adding this to a number of less than 2^22 rounds it to an integer, because the sum has no bits for a fraction. */
const roundingShift = 1.5 * 2 ** 23;

/** The largest weight of a block gets the code zeroCode + 127 or zeroCode - 127. */
export function toBlocks(
  weights: Float32Array,
  { codes, scales }: { readonly codes: Uint8Array; readonly scales: Float32Array },
): void {
  for (let block = 0; block < scales.length; block++) {
    const [start, end] = [block * blockSize, (block + 1) * blockSize];
    let largest = 0;
    for (let index = start; index < end; index++) largest = Math.max(largest, Math.abs(weights[index] as number));
    const scale = Math.fround(largest / largestCode);
    scales[block] = scale;
    const inverse = scale === 0 ? 0 : 1 / scale;
    for (let index = start; index < end; index++)
      codes[index] = Math.fround((weights[index] as number) * inverse + roundingShift) - roundingShift + zeroCode;
  }
}
