import { expect, it } from 'vitest';
import { isAfter, takePage } from './take-page.js';

const numbers = Array.from({ length: 5000 }, (_none, index) => index);

it('takes the items that pass up to the limit, and says whether more follow', async () => {
  const passes = (item: number): boolean => item % 1000 === 0;
  expect(await takePage(numbers, { passes, limit: 3 })).toEqual({ page: [0, 1000, 2000], hasMore: true });
  expect(await takePage(numbers, { passes, limit: 5 })).toEqual({
    page: [0, 1000, 2000, 3000, 4000],
    hasMore: false,
  });
});

it('lets other work run while it looks through a long list', async () => {
  let numTurns = 0;
  const count = (): void => {
    numTurns++;
    turn = setImmediate(count);
  };
  let turn = setImmediate(count);
  await takePage(numbers, { passes: () => false, limit: 1 });
  clearImmediate(turn);
  expect(numTurns).toBeGreaterThanOrEqual(4);
});

it('begins after an id, and at the start if the id is missing or unknown', () => {
  const ids = ['a', 'b', 'c'];
  const isKnown = (id: string): boolean => ids.includes(id);
  expect(['a', 'x', undefined].map((after) => ids.filter(isAfter(after, isKnown)))).toEqual([['b', 'c'], ids, ids]);
});
