/** The 16-bit floats that model files come in. */

/** The upper half of a float32 (Google brain float). Both have the same length. */
export function bfloat16ToFloat32(halves: Uint16Array, into: Float32Array): void {
  const bits = new Uint32Array(into.buffer, into.byteOffset, into.length);
  for (let index = 0; index < halves.length; index++) bits[index] = (halves[index] ?? 0) << 16;
}

/** IEEE 754 binary16. Both have the same length. */
export function float16ToFloat32(halves: Uint16Array, into: Float32Array): void {
  const values = float16Values();
  for (let index = 0; index < halves.length; index++) into[index] = values[halves[index] ?? 0] ?? 0;
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
