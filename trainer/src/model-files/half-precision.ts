/** Converts the 16-bit floats of model files. */

/** Reads bfloat16, the upper half of a float32 (Google brain float). Both arrays have the same length. */
export function bfloat16ToFloat32(halves: Uint16Array, into: Float32Array): void {
  const bits = new Uint32Array(into.buffer, into.byteOffset, into.length);
  for (let index = 0; index < halves.length; index++) bits[index] = (halves[index] ?? 0) << 16;
}

/** Reads IEEE 754 binary16. Both arrays have the same length. */
export function float16ToFloat32(halves: Uint16Array, into: Float32Array): void {
  const values = float16Values();
  for (let index = 0; index < halves.length; index++) into[index] = values[halves[index] ?? 0] ?? 0;
}

/** Rounds to the nearest, ties to even. Both arrays have the same length. */
export function float32ToBfloat16(values: Float32Array, into: Uint16Array): void {
  const bits = new Uint32Array(values.buffer, values.byteOffset, values.length);
  for (let index = 0; index < bits.length; index++) {
    const word = bits[index] ?? 0;
    const isNan = (word & 0x7fffffff) > 0x7f800000;
    into[index] = isNan ? (word >>> 16) | 0x40 : (word + 0x7fff + ((word >>> 16) & 1)) >>> 16;
  }
}

/** Rounds to the nearest, ties to even. Values that are too large become infinite. Both arrays have the same length. */
export function float32ToFloat16(values: Float32Array, into: Uint16Array): void {
  for (let index = 0; index < values.length; index++) into[index] = float16Bits(values[index] ?? 0);
}

function float16Bits(value: number): number {
  const sign = value < 0 || Object.is(value, -0) ? 0x8000 : 0;
  const size = Math.abs(value);
  if (Number.isNaN(size)) return 0x7e00;
  if (size >= 65520) return sign | 0x7c00;
  // The step of the result is 2^-24 below the smallest normal number, and otherwise 2^-10 of the power of two below the
  // value.
  const exponent = Math.max(-14, Math.floor(Math.log2(size)));
  const steps = roundToEven(size * 2 ** (10 - exponent));
  // If the mantissa rounds up to 1024 steps, the carry correctly increases the exponent.
  return sign | (steps < 1024 && exponent === -14 ? steps : (exponent + 14) * 1024 + steps);
}

function roundToEven(value: number): number {
  const down = Math.floor(value);
  const rest = value - down;
  return rest > 0.5 || (rest === 0.5 && down % 2 === 1) ? down + 1 : down;
}

let allFloat16Values: Float32Array | undefined;

function float16Values(): Float32Array {
  return (allFloat16Values ??= Float32Array.from({ length: 1 << 16 }, (_, half) => float16Value(half)));
}

function float16Value(half: number): number {
  const sign = half & 0x8000 ? -1 : 1;
  const exponent = (half >> 10) & 0x1f;
  const fraction = half & 0x3ff;
  if (exponent === 0) return sign * fraction * 2 ** -24;
  if (exponent === 0x1f) return fraction === 0 ? sign * Infinity : Number.NaN;
  return sign * (1 + fraction / 1024) * 2 ** (exponent - 15);
}
