import { expect, it } from 'vitest';
import { pickIndices } from './pick-indices.js';

it('takes one of each part, ascending', () => {
  const picked = pickIndices(100, 10, 1);
  expect(picked.map((index) => Math.floor(index / 10))).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
  expect(pickIndices(100, 10, 1)).toEqual(picked);
  expect(pickIndices(100, 10, 2)).not.toEqual(picked);
});

it('meets each of four kinds that alternate', () => {
  expect(new Set(pickIndices(400, 32, 3).map((index) => index % 4)).size).toBe(4);
});

it('takes all if there are few', () => {
  expect(pickIndices(3, 16, 1)).toEqual([0, 1, 2]);
  expect(pickIndices(0, 16, 1)).toEqual([]);
});
