import { expect, it } from 'vitest';
import { wilsonInterval } from './success-interval.js';
import { maxKinds, successByKind, toSuccessRecord } from './success-record.js';

const scores = [
  { kind: 'sum', successes: 1, trials: 1 },
  { kind: 'sum', successes: 0, trials: 1 },
  { kind: 'product', successes: 0, trials: 1 },
  { successes: 1, trials: 1 },
];

it('a record has the interval of all tasks, and the success of each kind', () => {
  expect(toSuccessRecord(scores)).toEqual({
    success_low: wilsonInterval(0.5, 4).low,
    success_high: wilsonInterval(0.5, 4).high,
    'success/sum': 0.5,
    'success_low/sum': wilsonInterval(0.5, 2).low,
    'success_high/sum': wilsonInterval(0.5, 2).high,
    'tasks/sum': 2,
    'success/product': 0,
    'success_low/product': 0,
    'success_high/product': wilsonInterval(0, 1).high,
    'tasks/product': 1,
  });
});

it('tasks without a kind make no kind, and kinds without a scored episode are left out', () => {
  expect(successByKind([{ successes: 1, trials: 1 }])).toEqual([]);
  expect(successByKind([{ kind: 'lost', successes: 0, trials: 0 }])).toEqual([]);
});

it('a field that differs in each task makes a limited number of metrics, and the rest is counted', () => {
  const many = Array.from({ length: maxKinds + 8 }, (_, at) => ({ kind: `task ${at}`, successes: 1, trials: 1 }));
  const record = toSuccessRecord([...many, ...many.slice(-1)]);
  expect(Object.keys(record).filter((key) => key.startsWith('success/'))).toHaveLength(maxKinds);
  expect(record).toMatchObject({ kinds_left_out: 8, [`tasks/task ${maxKinds + 7}`]: 2 });
});
