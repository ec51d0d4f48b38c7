import { expect, it } from 'vitest';
import { toKindsJson } from './kinds-json.js';

it('names success, interval and tasks of each kind, and says nothing if no task has a kind', () => {
  const kinds = [
    { kind: 'simple', successRate: 0.5, interval: { low: 0.4, high: 0.6 }, tasks: 100 },
    { kind: 'multiple', successRate: 0.25, interval: { low: 0.1, high: 0.4 }, tasks: 40 },
  ];
  expect(toKindsJson({ kinds })).toEqual({
    success_by_kind: {
      simple: { success: 0.5, success_interval: [0.4, 0.6], tasks: 100 },
      multiple: { success: 0.25, success_interval: [0.1, 0.4], tasks: 40 },
    },
  });
  expect(toKindsJson({})).toEqual({});
});
