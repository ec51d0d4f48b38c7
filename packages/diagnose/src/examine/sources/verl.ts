import { firstOf, type MetricsDialect } from './map-metrics.js';
import type { MetricLine } from './metric-line.js';

/** The metrics that verl's file logger writes as `{"step": n, "data": {...}}`. */
export const verlMetrics: MetricsDialect = {
  figures: {
    reward: firstOf('critic/score/mean', 'critic/rewards/mean'),
    entropy: firstOf('actor/entropy', 'actor/entropy_loss'),
    kl: firstOf('actor/kl_loss', 'actor/reward_kl_penalty'),
    clipped: firstOf('actor/pg_clipfrac'),
    grad_norm: firstOf('actor/grad_norm'),
    rate: firstOf('actor/lr'),
    answer_tokens: firstOf('response_length/mean'),
    cut: firstOf('response_length/clip_ratio'),
  },
  partOf: () => undefined,
  evaluationOf,
};

/**
 * `val-core/<source>/<variable>/mean@N` for each source of tasks. Success is the variable `acc`, or else `reward`; the
 * means of several sources are averaged. Before 0.4, verl wrote `val/test_score/<source>`.
 */
function evaluationOf({ numbers }: MetricLine): { readonly score: number } | undefined {
  const valuesOf = (pattern: RegExp): readonly number[] =>
    [...numbers].flatMap(([name, value]) => (pattern.test(name) ? [value] : []));
  const found = [/^val-core\/.+\/acc\/mean@\d+$/, /^val-core\/.+\/reward\/mean@\d+$/, /^val\/test_score\//]
    .map(valuesOf)
    .find((values) => values.length > 0);
  return found && { score: found.reduce((sum, value) => sum + value, 0) / found.length };
}
