import { expect, it } from 'vitest';
import { drawName, drawPrefix, evaluationSeed, passOrder, passSeed, placeSeed } from './random.js';

it('the seeds and the order stay the same from version to version: runs that are resumed rely on them', () => {
  expect([...passOrder(42, 0, 8)]).toEqual([2, 0, 5, 7, 6, 3, 1, 4]);
  expect([passSeed(42, 0), passSeed(42, 1), evaluationSeed(42)]).toEqual([3671528223, 1886898148, 254825266]);
  expect(placeSeed(7, { taskId: 't', place: 10 })).toBe(1215521773);
});

it('a task that a batch draws twice gets other seeds and another name', () => {
  const first = { taskId: 't', place: 0 };
  expect(placeSeed(7, { ...first, earlier: 0 })).toBe(placeSeed(7, first));
  expect(placeSeed(7, { ...first, earlier: 1 })).not.toBe(placeSeed(7, first));
  expect([0, 1, 2].map((earlier) => drawName('e1-', { ...first, earlier }))).toEqual(['e1-t', 'e1-t#2', 'e1-t#3']);
});

it('the name of a draw says its pass and its try', () => {
  expect([drawPrefix(0, 0), drawPrefix(9, 0), drawPrefix(0, 1)]).toEqual(['e1-', 'e10-', 'e1-try2-']);
});
