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

/**
 * Replaces each value by the mean of `window` values around it. Near an end, fewer are used, so that the ends stay in
 * place.
 */
export function smooth(values: readonly (number | null)[], window: number): readonly (number | null)[] {
  const reach = Math.floor(window / 2);
  if (reach === 0) return values;
  return values.map((value, at) => {
    if (value === null) return null;
    const width = Math.min(reach, at, values.length - 1 - at);
    const near = values.slice(at - width, at + width + 1).filter((each) => each !== null);
    return near.reduce((sum, each) => sum + each, 0) / near.length;
  });
}
