import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { ownTurn } from './own-turn.js';

it('gives each of several continuations another turn of the loop, in the order in which they asked', async () => {
  let turn = 0;
  let isOver = false;
  const counting = (async () => {
    for (; !isOver; turn++) await nextTurn();
  })();
  const seen: { readonly name: string; readonly turn: number }[] = [];
  const work = async (name: string): Promise<void> => {
    await ownTurn();
    for (let step = 0; step < 5; step++) await Promise.resolve(); // like a framework, which runs a few steps before its next call
    seen.push({ name, turn });
  };
  await Promise.all(['a', 'b', 'c', 'd'].map(work));
  isOver = true;
  await counting;
  expect(seen.map(({ name }) => name)).toEqual(['a', 'b', 'c', 'd']);
  expect(new Set(seen.map((each) => each.turn)).size).toBe(4);
});

it('does not wait if no other caller has continued in this turn', async () => {
  await nextTurn();
  await nextTurn();
  let hasTurned = false;
  setImmediate(() => (hasTurned = true));
  await ownTurn();
  expect(hasTurned).toBe(false);
});
