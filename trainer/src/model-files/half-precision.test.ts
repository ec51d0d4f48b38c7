import { expect, test } from 'vitest';
import { bfloat16ToFloat32, float16ToFloat32, float32ToBfloat16, float32ToFloat16 } from './half-precision.js';

const allHalves = Uint16Array.from({ length: 1 << 16 }, (_, half) => half);
const isNumber = (value: number): boolean => !Number.isNaN(value);

test.each([
  ['bfloat16', bfloat16ToFloat32, float32ToBfloat16],
  ['float16', float16ToFloat32, float32ToFloat16],
] as const)('every %s comes back from float32 as it was', (_name, toFloat32, toHalves) => {
  const values = new Float32Array(allHalves.length);
  toFloat32(allHalves, values);
  const halves = new Uint16Array(allHalves.length);
  toHalves(values, halves);
  const back = new Float32Array(allHalves.length);
  toFloat32(halves, back);
  const wrong = allHalves.filter((half) => isNumber(values[half] ?? 0) && halves[half] !== half);
  expect([...wrong]).toEqual([]);
  expect(back.map((value, index) => (Number.isNaN(value) === Number.isNaN(values[index]) ? 0 : 1)).includes(1)).toBe(
    false,
  );
});

test.each([
  { name: 'bfloat16', toFloat32: bfloat16ToFloat32, toHalves: float32ToBfloat16, unit: 2 ** -8 },
  { name: 'float16', toFloat32: float16ToFloat32, toHalves: float32ToFloat16, unit: 2 ** -11 },
])('rounds the middle between two values of $name to the even one', ({ toFloat32, toHalves, unit }) => {
  const halves = new Uint16Array(2);
  toHalves(Float32Array.of(1 + unit, 1 + 3 * unit), halves);
  const back = new Float32Array(2);
  toFloat32(halves, back);
  expect([...back]).toEqual([1, 1 + 4 * unit]);
});

test('rounds the smallest of float16 alike', () => {
  const halves = new Uint16Array(3);
  float32ToFloat16(Float32Array.of(2 ** -25, 3 * 2 ** -25, -(2 ** -24)), halves);
  expect([...halves]).toEqual([0, 2, 0x8001]);
});

test('makes infinity of what float16 cannot hold', () => {
  const halves = new Uint16Array(3);
  float32ToFloat16(Float32Array.of(65519, 65520, -1e9), halves);
  expect([...halves]).toEqual([0x7bff, 0x7c00, 0xfc00]);
});
