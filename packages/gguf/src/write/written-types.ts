import { float32ToFloat16 } from '@agentjet/trainer/model-files';

/** How to write the numbers of a tensor. */
export type WrittenType = {
  /** The number of the type, as in `types/registrations.ts`. */
  readonly id: number;
  readonly blockValues: number;
  readonly blockBytes: number;
  /** Converts whole blocks to bytes. */
  readonly encode: (values: Float32Array) => Uint8Array;
};

export const float32Type: WrittenType = {
  id: 0,
  blockValues: 1,
  blockBytes: 4,
  encode: (values) => new Uint8Array(values.buffer, values.byteOffset, values.byteLength),
};

export const float16Type: WrittenType = { id: 1, blockValues: 1, blockBytes: 2, encode: toHalves };

/** Blocks of 32 values. A block has a float16 scale, and each value is a multiple of the scale from -127 to 127. */
export const q80Type: WrittenType = { id: 8, blockValues: 32, blockBytes: 34, encode: quantizeQ80 };

function toHalves(values: Float32Array): Uint8Array {
  const halves = new Uint16Array(values.length);
  float32ToFloat16(values, halves);
  return new Uint8Array(halves.buffer);
}

/** Rounds halves away from zero in float32 arithmetic, as llama.cpp does. */
function quantizeQ80(values: Float32Array): Uint8Array {
  const numBlocks = values.length / 32;
  const bytes = new Uint8Array(numBlocks * 34);
  const scales = new Float32Array(numBlocks);
  for (let block = 0; block < numBlocks; block++) {
    const start = block * 32;
    let largest = 0;
    for (let index = 0; index < 32; index++) largest = Math.max(largest, Math.abs(values[start + index] ?? 0));
    const scale = Math.fround(largest / 127);
    scales[block] = scale;
    const inverse = scale === 0 ? 0 : Math.fround(1 / scale);
    for (let index = 0; index < 32; index++)
      bytes[block * 34 + 2 + index] = roundAway(Math.fround((values[start + index] ?? 0) * inverse));
  }
  const halves = toHalves(scales);
  for (let block = 0; block < numBlocks; block++) bytes.set(halves.subarray(block * 2, block * 2 + 2), block * 34);
  return bytes;
}

function roundAway(value: number): number {
  return Math.sign(value) * Math.floor(Math.abs(value) + 0.5);
}
