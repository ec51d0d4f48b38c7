/** Numbers of half precision (IEEE 754 binary16), as their bits. Node 20 has no Float16Array. */

const largestHalf = 65504;
const signBit = 0x8000;
/** Exponents of both formats, as their bits: the bias of float32 is 127, that of half precision 15. */
const biasDifference = 112;

/** Returns false if a number is too large for half precision. */
export function toHalves(values: Float32Array, halves: Uint16Array): boolean {
  const bits = new Uint32Array(values.buffer, values.byteOffset, values.length);
  for (let index = 0; index < values.length; index++) {
    if (!(Math.abs(values[index] as number) <= largestHalf)) return false;
    halves[index] = toHalf(bits[index] as number);
  }
  return true;
}

/** Rounds to the nearest number; a tie goes to the even one. */
function toHalf(bits: number): number {
  const sign = (bits >>> 16) & signBit;
  const exponent = ((bits >>> 23) & 0xff) - biasDifference;
  const fraction = bits & 0x7fffff;
  if (exponent < -10) return sign;
  // A subnormal number has no leading bit, so the leading bit of the float becomes a part of its fraction.
  const [whole, dropped] = exponent > 0 ? [(exponent << 23) | fraction, 13] : [fraction | 0x800000, 14 - exponent];
  const half = whole >>> dropped;
  const rest = whole & (2 ** dropped - 1);
  const tie = 2 ** (dropped - 1);
  return sign | (half + (rest > tie || (rest === tie && half % 2 === 1) ? 1 : 0));
}

export function fromHalf(half: number): number {
  const sign = (half & signBit) === 0 ? 1 : -1;
  const [exponent, fraction] = [(half >>> 10) & 31, half & 1023];
  return sign * (exponent === 0 ? fraction * 2 ** -24 : (1 + fraction / 1024) * 2 ** (exponent - 15));
}
