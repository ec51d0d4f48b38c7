import { describe, expect, it } from 'vitest';
import type { EvaluationPoint, RunOverview, TaskChange } from '../wire.js';
import { compareRuns, findSettingsApart, findTasksApart } from './compare-runs.js';

const side = (successes: number, trials: number) => ({ successes, trials, episode: 'e', ref: '0.0' });
const task = (name: string, before: number, after?: number): TaskChange => ({
  task: name,
  kind: '',
  before: side(before, 1),
  after: after === undefined ? null : side(after, 1),
});
const point = (step: number, rate: number): EvaluationPoint => ({
  step,
  rate,
  low: rate,
  high: rate,
  episodes: 1,
  reward: rate,
});
const overview = (tasks: readonly TaskChange[], settings = {}, evaluations = [point(0, 0), point(9, 1)]) =>
  ({ tasks, evaluations, settings }) as unknown as RunOverview;
const many = (count: number, before: number, after: number) =>
  Array.from({ length: count }, (_none, at) => task(`t${at}`, before, after));

describe('several runs', () => {
  it('are compared with the first one on the tasks that both have', () => {
    const [a, b, c] = compareRuns([
      overview(many(30, 0, 1)),
      overview([...many(20, 0, 0), task('own', 0, 1)]),
      overview([task('elsewhere', 0, 1)]),
    ]);
    expect([a?.letter, b?.letter, c?.letter]).toEqual(['A', 'B', 'C']);
    expect(a).toMatchObject({ change: { difference: 1, tasks: 30 }, against: null });
    expect(b?.against).toMatchObject({ difference: -1, tasks: 20 });
    expect(b?.against?.high).toBeLessThan(0);
    expect(b?.change).toMatchObject({ difference: 1 / 21, tasks: 21 });
    expect(b?.change?.low).toBeLessThan(0);
    expect(c?.against).toBeNull();
  });

  it('show the tasks on which any two differ, and settings of which one has another value', () => {
    const runs = [
      overview([task('same', 0, 1), task('apart', 0, 1), task('alone', 1, 1)], { lr: '1', seed: '1' }),
      overview([task('same', 1, 1), task('apart', 0, 0)], { lr: '1', seed: '2' }),
      overview([task('apart', 1)], { lr: '1' }),
    ];
    expect(findTasksApart(runs)).toEqual({ apart: [{ task: 'apart', rates: [1, 0, 1] }], shared: 2 });
    expect(findSettingsApart(runs)).toEqual([{ name: 'seed', values: ['1', '2', undefined] }]);
  });

  it('take a task without a score as unknown', () => {
    const unscored = { ...task('t', 0, 0), after: side(0, 0) };
    expect(compareRuns([overview([unscored])])[0]?.change).toBeNull();
  });
});
