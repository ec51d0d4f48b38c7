import type { MetricValues } from './metric-name.js';
import { successInterval, successRate, type Interval, type TaskScore } from './success-interval.js';

/** The score of one task, and the kind that its metadata names. */
export type KindScore = TaskScore & { readonly kind?: string };

export type KindSuccess = {
  readonly kind: string;
  readonly successRate: number;
  readonly interval: Interval;
  readonly tasks: number;
};

/** The most kinds of one record. A field with a different value for each task would make a metric of each. */
export const maxKinds = 32;

/** Success by kind, those with the most tasks first. Empty if no task has a kind. */
export function successByKind(scores: readonly KindScore[]): readonly KindSuccess[] {
  const byKind = new Map<string, KindScore[]>();
  for (const score of scores) {
    if (score.kind === undefined || score.trials === 0) continue;
    const own = byKind.get(score.kind) ?? [];
    byKind.set(score.kind, own);
    own.push(score);
  }
  return [...byKind]
    .map(([kind, own]) => ({
      kind,
      successRate: successRate(own),
      interval: successInterval(own),
      tasks: own.length,
    }))
    .sort((left, right) => right.tasks - left.tasks || (left.kind < right.kind ? -1 : 1));
}

/**
 * The keys that follow `success_rate` in the lines of steps and evaluations: its 95% interval, and the success,
 * the interval and the number of tasks of each kind. `kinds_left_out` counts the kinds beyond `maxKinds`.
 */
export function toSuccessRecord(scores: readonly KindScore[]): MetricValues {
  const { low, high } = successInterval(scores);
  const kinds = successByKind(scores);
  const rows = kinds
    .slice(0, maxKinds)
    .flatMap(({ kind, successRate: rate, interval, tasks }) => [
      [`success/${kind}`, rate] as const,
      [`success_low/${kind}`, interval.low] as const,
      [`success_high/${kind}`, interval.high] as const,
      [`tasks/${kind}`, tasks] as const,
    ]);
  return {
    success_low: low,
    success_high: high,
    ...Object.fromEntries(rows),
    ...(kinds.length > maxKinds && { kinds_left_out: kinds.length - maxKinds }),
  };
}
