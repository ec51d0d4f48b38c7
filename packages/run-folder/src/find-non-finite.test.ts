import { expect, it } from 'vitest';
import { hasNonFinite } from './find-non-finite.js';

const bytesOf = (array: Float32Array | Float64Array | Uint16Array): Uint8Array => new Uint8Array(array.buffer);

it.each([
  ['F32', bytesOf(Float32Array.of(3.4e38, -0, 1e-45)), bytesOf(Float32Array.of(1, Number.NaN))],
  ['F64', bytesOf(Float64Array.of(1.7e308, 5e-324)), bytesOf(Float64Array.of(1, -Infinity))],
  ['BF16', bytesOf(Uint16Array.of(0x7f7f, 0x8000)), bytesOf(Uint16Array.of(0x3f80, 0xff80))],
  ['F16', bytesOf(Uint16Array.of(0x7bff, 0x8000)), bytesOf(Uint16Array.of(0x3c00, 0x7e00))],
])('distinguishes finite %s numbers from others', (dtype, finite, other) => {
  expect(hasNonFinite(finite, dtype)).toBe(false);
  expect(hasNonFinite(other, dtype)).toBe(true);
});

it('asks nothing of integers', () => {
  expect(hasNonFinite(new Uint8Array(16).fill(255), 'I64')).toBe(false);
});
