import { expect, it } from 'vitest';
import { JudgeWatch } from './judge-watch.js';

it('wakes the episodes that wait once for each outage, as long as they listen', () => {
  const said: string[] = [];
  const watch = new JudgeWatch((message) => said.push(message.slice(0, 30)));
  let numWoken = 0;
  const leave = watch.onBack(() => numWoken++);
  watch.answered();
  expect([numWoken, said]).toEqual([0, []]);
  watch.away('no quota');
  watch.away('no quota');
  watch.answered();
  watch.answered();
  expect([numWoken, said]).toEqual([
    1,
    ['The judge cannot be reached (no', 'The judge is back.'].map((line) => line.slice(0, 30)),
  ]);
  leave();
  watch.away('no quota');
  watch.answered();
  expect([numWoken, said.length]).toEqual([1, 4]);
});
