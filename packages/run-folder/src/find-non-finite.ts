/**
 * Masks of the exponent bits, by safetensors' name of the type. In an infinity or NaN, all of these bits are set.
 * Integers have no mask.
 */
const exponents: Readonly<Record<string, { readonly words: 2 | 4 | 8; readonly mask: number }>> = {
  F32: { words: 4, mask: 0x7f800000 },
  BF16: { words: 2, mask: 0x7f80 },
  F16: { words: 2, mask: 0x7c00 },
  F64: { words: 8, mask: 0x7ff00000 },
};

/**
 * Returns true if a number in `bytes` is infinite or NaN. `bytes` is little-endian, contains whole numbers of type
 * `dtype`, and begins at a multiple of 8 of its ArrayBuffer.
 */
export function hasNonFinite(bytes: Uint8Array, dtype: string): boolean {
  const exponent = exponents[dtype];
  if (exponent === undefined) return false;
  const { words, mask } = exponent;
  if (words === 2) return hasMasked(new Uint16Array(bytes.buffer, bytes.byteOffset, bytes.length >> 1), mask, 0, 1);
  const view = new Uint32Array(bytes.buffer, bytes.byteOffset, bytes.length >> 2);
  return words === 4 ? hasMasked(view, mask, 0, 1) : hasMasked(view, mask, 1, 2);
}

function hasMasked(values: Uint16Array | Uint32Array, mask: number, first: number, stride: number): boolean {
  for (let index = first; index < values.length; index += stride)
    if (((values[index] as number) & mask) === mask) return true;
  return false;
}
