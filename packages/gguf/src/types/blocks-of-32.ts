import { float16ToFloat32 } from '@agentjet/trainer/model-files';
import type { Dequantize } from './tensor-type.js';

/**
 * Reads blocks of 32 values. A block has a float16 scale, for some types a float16 minimum, and 4, 5 or 8 bits for each
 * value.
 */

type Layout = {
  readonly blockBytes: number;
  /** The position of the minimum. Undefined if the values are centered on `zero`. */
  readonly minimumAt?: number;
  /** The position of the fifth bits. Undefined for types with four bits. */
  readonly highBitsAt?: number;
  /**
   * The position of the lower four bits, which take 16 bytes. The low half of each byte belongs to a value of the first
   * half of the block, and the high half to a value of the second.
   */
  readonly lowBitsAt: number;
  readonly zero: number;
};

/** Creates a reader of blocks with four or five bits for each value. */
function ofNibbles({ blockBytes, minimumAt, highBitsAt, lowBitsAt, zero }: Layout): Dequantize {
  return (bytes, values) => {
    const scales = readScales(bytes, { blockBytes, at: 0 });
    const minima = minimumAt === undefined ? undefined : readScales(bytes, { blockBytes, at: minimumAt });
    for (let block = 0; block < scales.length; block++) {
      const start = block * blockBytes;
      const scale = scales[block] ?? 0;
      const minimum = minima?.[block];
      for (let index = 0; index < 32; index++) {
        const low = ((bytes[start + lowBitsAt + (index & 15)] ?? 0) >> (index < 16 ? 0 : 4)) & 15;
        const high =
          highBitsAt === undefined ? 0 : ((bytes[start + highBitsAt + (index >> 3)] ?? 0) >> (index & 7)) & 1;
        const product = scale * ((low | (high << 4)) - zero);
        values[block * 32 + index] = minimum === undefined ? product : Math.fround(product) + minimum;
      }
    }
  };
}

export const dequantizeQ40 = ofNibbles({ blockBytes: 18, lowBitsAt: 2, zero: 8 });
export const dequantizeQ41 = ofNibbles({ blockBytes: 20, minimumAt: 2, lowBitsAt: 4, zero: 0 });
export const dequantizeQ50 = ofNibbles({ blockBytes: 22, highBitsAt: 2, lowBitsAt: 6, zero: 16 });
export const dequantizeQ51 = ofNibbles({ blockBytes: 24, minimumAt: 2, highBitsAt: 4, lowBitsAt: 8, zero: 0 });

export const dequantizeQ80: Dequantize = (bytes, values) => {
  const scales = readScales(bytes, { blockBytes: 34, at: 0 });
  for (let block = 0; block < scales.length; block++) {
    const scale = scales[block] ?? 0;
    for (let index = 0; index < 32; index++)
      values[block * 32 + index] = scale * toSigned(bytes[block * 34 + 2 + index] ?? 0);
  }
};

/** Converts a byte to a number from -128 to 127. */
export function toSigned(byte: number): number {
  return (byte << 24) >> 24;
}

/** The position of a float16 value in the blocks of a type. */
type ScalePlace = { readonly blockBytes: number; readonly at: number };

/** Reads the float16 value at this position of each block. */
export function readScales(bytes: Uint8Array, { blockBytes, at }: ScalePlace): Float32Array {
  const halves = new Uint16Array(bytes.length / blockBytes);
  for (let block = 0; block < halves.length; block++) {
    const start = block * blockBytes + at;
    halves[block] = (bytes[start] ?? 0) | ((bytes[start + 1] ?? 0) << 8);
  }
  const scales = new Float32Array(halves.length);
  float16ToFloat32(halves, scales);
  return scales;
}
