import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { ownTurn } from './own-turn.js';

it('lets the loop take a turn between two continuations, in the order in which they asked', async () => {
  const seen: string[] = [];
  const work = async (name: string): Promise<void> => {
    await ownTurn();
    seen.push(name);
    await Promise.resolve();
    seen.push(`${name}, later`);
  };
  const all = Promise.all(['a', 'b', 'c'].map(work));
  const turns = (async () => {
    while (seen.length < 6) {
      await nextTurn();
      seen.push('|');
    }
  })();
  await Promise.all([all, turns]);
  const text = seen.join(' ');
  expect(text).toMatch(/a a, later \| .*b b, later \| .*c c, later/);
});
