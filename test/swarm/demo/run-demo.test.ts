import { expect, it } from 'vitest';
import { complaintsAbout, type DemoResult } from './run-demo.js';

const good: DemoResult = {
  success_before: { lake: 0.3, sums: 0 },
  success_after: { lake: 0.9, sums: 0.8 },
  events: [],
  acknowledged: 100,
  trained: 90,
  dropped_by_reason: {},
  lost: 0,
  doubled: 0,
  seconds: 90,
};

it('says what the demo did not show', () => {
  expect(complaintsAbout(good)).toEqual([]);
  expect(complaintsAbout({ ...good, success_after: { lake: 0.9, sums: 0.3 }, lost: 2, seconds: 250 })).toEqual([
    '2 episodes were lost, 0 trained twice',
    'sums gained 0.30 of success, not 0.4',
    'it took 250 s, not 240',
  ]);
  expect(complaintsAbout({ ...good, success_after: { lake: 0.9 } })).toEqual(['sums gained 0.00 of success, not 0.4']);
});
