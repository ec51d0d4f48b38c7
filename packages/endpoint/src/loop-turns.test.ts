import { expect, it } from 'vitest';
import { LoopTurns } from './loop-turns.js';

it('lets small bodies in at once, and other work run between large ones', async () => {
  const turns = new LoopTurns();
  const order: string[] = [];
  expect(turns.take(2000)).toBeUndefined();
  expect(turns.take(100_000)).toBeUndefined(); // the turn began with a small body
  const bodies = [1, 2, 3].map(async (body) => {
    await turns.take(100_000);
    order.push(`body ${body}`);
    setImmediate(() => order.push(`work after ${body}`));
  });
  expect(order).toEqual([]);
  await Promise.all(bodies);
  expect(order.indexOf('work after 1')).toBeLessThan(order.indexOf('body 3'));
  expect(order.filter((said) => said.startsWith('body'))).toEqual(['body 1', 'body 2', 'body 3']);
});

it('lets many small bodies in together', async () => {
  const turns = new LoopTurns();
  expect(turns.take(100_000)).toBeUndefined();
  let numTurns = 0;
  const count = (): void => {
    numTurns++;
    timer = setImmediate(count);
  };
  let timer = setImmediate(count);
  await Promise.all(Array.from({ length: 64 }, async () => turns.take(2000)));
  clearImmediate(timer);
  expect(numTurns).toBeLessThan(5);
});
