import type { MetricsRecord } from '@agentjet/run-folder';

/** Metrics that belong together, under a title that says what they are about. */
export type MetricGroup = { readonly title: string; readonly metrics: readonly string[] };

const groups: readonly (readonly [title: string, pattern: RegExp])[] = [
  ['Reward and success', /^(reward|success|sampled_success|pass_at|all_pass|held_out|judge\/|turn_rewards)/],
  ['Optimisation', /^(loss|grad|kl|clip|entropy|learning_rate|ratio|policy_version|logprob_gap|importance)/],
  [
    'Groups and episodes',
    /^(groups|episodes|failed|unscored|missing|stale|dropped|refill|attempts|samples|overlong|truncated)/,
  ],
  ['Answers and calls', /^(answers|forks|splices|foreign|tool|malformed|untrained_calls|swallowed|special)/],
  ['Tokens', /(tokens|packs|splits)/],
  ['Time', /^seconds|_seconds|_ms$/],
  ['Your workflow', /^workflow\//],
];

/** Metrics without meaning as a curve. */
const hidden = /^(step$|success_(low|high)|sampled_success_(low|high)|success_change|tasks\/|kinds_left_out)/;

/** Every metric of the lines, each in one group. A metric that never changes from 0 is left out. */
export function groupMetrics(lines: readonly MetricsRecord[]): readonly MetricGroup[] {
  const names = new Set<string>();
  for (const line of lines)
    for (const [name, value] of Object.entries(line)) {
      if (hidden.test(name) || typeof value !== 'number') continue;
      if (value !== 0) names.add(name);
    }
  const left = [...names].sort((a, b) => a.localeCompare(b, 'en', { numeric: true }));
  const found = groups.map(([title, pattern]) => ({ title, metrics: take(left, pattern) }));
  return [...found, { title: 'Other', metrics: left }].filter(({ metrics }) => metrics.length > 0);
}

function take(names: string[], pattern: RegExp): readonly string[] {
  const taken = names.filter((name) => pattern.test(name));
  for (const name of taken) names.splice(names.indexOf(name), 1);
  return taken;
}

const ofAnUpdate = new Set(['loss', 'grad_norm', 'entropy', 'kl', 'logprob_gap_max']);

/** Removes the entropy of a step that trained nothing. Such a step has no entropy, not an entropy of 0. */
export function withoutUnmeasured(line: MetricsRecord): MetricsRecord {
  if (line['trained_tokens'] !== 0) return line;
  return { step: line.step, ...Object.fromEntries(Object.entries(line).filter(([name]) => !ofAnUpdate.has(name))) };
}
