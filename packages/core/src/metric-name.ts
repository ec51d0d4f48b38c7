/**
 * The names of all metrics that a step or an evaluation records. `docs/metrics.md` explains each, and a test compares
 * the page with this file. Backbones declare further names in their types of `TrainStepMetrics`.
 */
export type MetricName =
  // episodes
  | 'reward_mean'
  | 'turn_rewards'
  | 'success_rate'
  | 'success_low'
  | 'success_high'
  | 'kinds_left_out'
  | 'episodes'
  | 'failed_episodes'
  | 'reward_penalty'
  | 'teacher_kl'
  | 'reference_kl'
  // groups and samples
  | 'groups'
  | 'groups_skipped'
  | 'groups_of_mixed_sampling'
  | 'refilled_groups'
  | 'samples'
  | 'dropped_episodes'
  | 'masked_episodes'
  | 'overlong_samples'
  | 'truncated_samples'
  | 'lost_tokens'
  | 'stale_episodes'
  | 'staleness_mean'
  | 'staleness_max'
  | 'trained_over_begun_tokens'
  | 'trained_over_begun_seconds'
  | 'cut_attempts_share'
  // services that failed
  | 'outages'
  | 'outage_tokens'
  | 'judge_outages'
  | 'judge_outage_requests'
  | 'judge_outage_seconds'
  | 'judge_unavailable'
  // what agents do
  | 'answers'
  | 'answers_cut'
  | 'malformed_tool_calls'
  | 'forks'
  | 'splices'
  | 'foreign_messages'
  | 'ignored_parameters'
  | 'untrained_calls'
  | 'swallowed_errors'
  // the update
  | 'policy_version'
  | 'loss'
  | 'grad_norm'
  | 'entropy'
  | 'kl'
  | 'clip_fraction'
  | 'logprob_gap_max'
  | 'logprob_gap_mean'
  | 'logprob_gap_before_redo'
  | 'learning_rate'
  | 'tokens_outside_support'
  // what a step costs
  | 'generated_tokens'
  | 'trained_tokens'
  | 'row_tokens'
  | 'tree_tokens'
  | 'row_tokens_over_tree_tokens'
  | 'leaf_tokens_over_tree_tokens'
  | 'packs'
  | 'splits'
  | 'duplicated_tokens'
  | 'repeated_tokens'
  | 'seconds_sampling'
  | 'seconds_packing'
  | 'seconds_training'
  | 'seconds_teacher'
  // evaluations
  | 'all_pass'
  | 'unscored_episodes'
  | 'missing_episodes'
  | 'seconds'
  | 'temperature'
  | 'success_change'
  | 'success_change_low'
  | 'success_change_high'
  | 'success_change_since'
  | 'success_change_tasks'
  | 'sampled_success_rate'
  | 'sampled_success_low'
  | 'sampled_success_high'
  | 'sampled_temperature'
  | 'sampled_episodes'
  // imitation
  | 'epoch'
  | 'examples'
  | 'held_out_loss'
  | 'held_out_logprob'
  | 'held_out_tokens'
  | 'held_out_examples';

/** What comes before the slash of a name with a part that a user, an agent or a task chose, as in `judge/format`. */
export type MetricFamily =
  | 'judge'
  | 'reward'
  | 'workflow'
  | 'success'
  | 'success_low'
  | 'success_high'
  | 'tasks'
  | 'share'
  | 'forks'
  | 'splices'
  | 'foreign_messages'
  | 'ignored_parameters'
  | 'untrained_calls'
  | 'swallowed_errors';

/**
 * For example `{ reward_mean: 0.4, 'forks/solver/edited': 2, pass_at_8: 0.7 }`. The compiler refuses other names, and
 * also a record of any strings: the last line says that no name has a space in it.
 */
export type MetricValues = { readonly [name in MetricName]?: number } & {
  readonly [name: `${MetricFamily}/${string}` | `pass_at_${number}`]: number;
} & { readonly [name: `${string} ${string}`]: never };
