import { firstOf, type MetricsDialect } from './map-metrics.js';
import type { MetricLine } from './metric-line.js';

/**
 * The metrics of TRL's GRPOTrainer, in `log_history` of trainer_state.json or one per line. The names are those of
 * TRL 0.18 to 0.26. `clip_ratio` and `completion_length` are the names of earlier versions.
 */
export const trlMetrics: MetricsDialect = {
  figures: {
    reward: firstOf('reward'),
    equal_groups: firstOf('frac_reward_zero_std'),
    entropy: firstOf('entropy'),
    kl: firstOf('kl'),
    clipped: firstOf('clip_ratio/region_mean', 'clip_ratio'),
    grad_norm: firstOf('grad_norm'),
    rate: firstOf('learning_rate'),
    answer_tokens: firstOf('completions/mean_length', 'completion_length'),
    cut: firstOf('completions/clipped_ratio'),
    gap: firstOf('sampling/sampling_logp_difference/mean'),
  },
  partOf: (metric) => /^rewards\/(.+)\/mean$/.exec(metric)?.[1],
  evaluationOf,
};

/** The names of a score on held-out tasks, the best one first. */
const scoreWords = /acc|success|correct|score|pass|solve/;

/** TRL prefixes the metrics of an evaluation with `eval_`. Callbacks of users write `eval/...` and similar names. */
function evaluationOf({ numbers }: MetricLine): { readonly score: number } | undefined {
  const held = [...numbers].filter(
    ([name]) => /^(eval|val|test)[_/]/.test(name) && !/(std|min|max|loss|runtime|per_second)$/.test(name),
  );
  const score =
    held.find(([name]) => scoreWords.test(name) && /mean$|[^/]*$/.test(name))?.[1] ??
    held.find(([name]) => /^(eval|val|test)[_/]reward$/.test(name))?.[1];
  return score === undefined ? undefined : { score };
}
