import { toSigned, readScales } from './blocks-of-32.js';
import type { Dequantize } from './tensor-type.js';

/**
 * Reads blocks of 256 values, which have parts of 32 or 16 values. The scale of a part is a small whole number times
 * the scale of the block.
 */

/**
 * Reads Q4_K and Q5_K. A block has eight parts of 32 values, each with a scale and a minimum of six bits. It holds, in
 * this order: d, dmin, 12 bytes of scales and minima, and the bits of the values.
 */
function ofEightParts(layout: {
  readonly blockBytes: number;
  readonly highBitsAt?: number;
  readonly lowBitsAt: number;
}): Dequantize {
  const { blockBytes, highBitsAt, lowBitsAt } = layout;
  return (bytes, values) => {
    const scales = readScales(bytes, { blockBytes, at: 0 });
    const minima = readScales(bytes, { blockBytes, at: 2 });
    for (let block = 0; block < scales.length; block++) {
      const start = block * blockBytes;
      for (let part = 0; part < 8; part++) {
        const [small, smallMinimum] = sixBits(bytes, start + 4, part);
        const scale = Math.fround((scales[block] ?? 0) * small);
        const minimum = Math.fround((minima[block] ?? 0) * smallMinimum);
        const lows = start + lowBitsAt + (part >> 1) * 32;
        for (let index = 0; index < 32; index++) {
          const low = ((bytes[lows + index] ?? 0) >> ((part & 1) * 4)) & 15;
          const high = highBitsAt === undefined ? 0 : ((bytes[start + highBitsAt + index] ?? 0) >> part) & 1;
          values[block * 256 + part * 32 + index] = Math.fround(scale * (low | (high << 4))) - minimum;
        }
      }
    }
  };
}

/**
 * Reads the scale and the minimum of one of eight parts. The first four parts have their own bytes. The other parts
 * also use the upper bits of these bytes.
 */
function sixBits(bytes: Uint8Array, start: number, part: number): readonly [scale: number, minimum: number] {
  const byte = (index: number): number => bytes[start + index] ?? 0;
  if (part < 4) return [byte(part) & 63, byte(part + 4) & 63];
  const shared = byte(part + 4);
  return [(shared & 15) | ((byte(part - 4) >> 6) << 4), (shared >> 4) | ((byte(part) >> 6) << 4)];
}

export const dequantizeQ4K = ofEightParts({ blockBytes: 144, lowBitsAt: 16 });
export const dequantizeQ5K = ofEightParts({ blockBytes: 176, highBitsAt: 16, lowBitsAt: 48 });

/**
 * Reads Q6_K. A block has sixteen parts of 16 values. Each part has a scale of one signed byte, and no minimum. It
 * holds, in this order: 128 bytes with the lower four bits of the values, 64 bytes with their upper two bits, the
 * scales, and d.
 */
export const dequantizeQ6K: Dequantize = (bytes, values) => {
  const scales = readScales(bytes, { blockBytes: 210, at: 208 });
  for (let block = 0; block < scales.length; block++) {
    const start = block * 210;
    for (let index = 0; index < 256; index++) {
      const half = index >> 7;
      const quarter = (index >> 5) & 3;
      const lows = bytes[start + half * 64 + (quarter & 1) * 32 + (index & 31)] ?? 0;
      const low = (lows >> ((quarter >> 1) << 2)) & 15;
      const high = ((bytes[start + 128 + half * 32 + (index & 31)] ?? 0) >> (quarter * 2)) & 3;
      const scale = Math.fround((scales[block] ?? 0) * toSigned(bytes[start + 192 + (index >> 4)] ?? 0));
      values[block * 256 + index] = scale * ((low | (high << 4)) - 32);
    }
  }
};
