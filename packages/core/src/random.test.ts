import { expect, it } from 'vitest';
import { shuffleIndices } from './random.js';

it('the order is a permutation that the seed decides', () => {
  expect([...shuffleIndices(20, 1)]).toEqual([...shuffleIndices(20, 1)]);
  expect([...shuffleIndices(20, 1)]).not.toEqual([...shuffleIndices(20, 2)]);
  expect([...shuffleIndices(20, 1)].sort((a, b) => a - b)).toEqual(Array.from({ length: 20 }, (_, index) => index));
  expect([...shuffleIndices(0, 1), ...shuffleIndices(1, 1)]).toEqual([0]);
});

it('the order stays the same from version to version: runs that are resumed rely on it', () => {
  expect([...shuffleIndices(12, 1)]).toEqual([4, 10, 2, 6, 9, 3, 1, 11, 8, 5, 0, 7]);
  expect([...shuffleIndices(12, 4242)]).toEqual([0, 8, 10, 7, 11, 1, 2, 5, 4, 9, 3, 6]);
});
