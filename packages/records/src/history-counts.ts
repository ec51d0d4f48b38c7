import type { MetricFamily, MetricName, MetricValues } from '@agentjet/core';
import type { CountsByAgent } from '@agentjet/context-tracker';
import type { Episode } from '@agentjet/rollout';

/**
 * Counts changes of the histories that agents sent, for the metrics of a step: `forks`, `splices` and
 * `foreign_messages`, in total and as `forks/<agent>/<cause>`. `ignored_parameters` has the same form;
 * `untrained_calls` and `swallowed_errors` are counted by agent. Counts of zero are left out.
 */
export function countHistories(
  episodes: readonly Pick<Episode, 'stats' | 'ignoredParameters' | 'untrainedCalls' | 'swallowedErrors'>[],
): MetricValues {
  const counts: Counts = { forks: 0, splices: 0, foreign_messages: 0 };
  for (const { stats, ignoredParameters, untrainedCalls = [], swallowedErrors = [] } of episodes) {
    addAll(counts, 'forks', stats.forks);
    addAll(counts, 'splices', stats.splices);
    addAll(counts, 'foreign_messages', stats.foreignMessages);
    addAll(counts, 'ignored_parameters', ignoredParameters);
    for (const { agentName } of untrainedCalls) addCalls(counts, 'untrained_calls', agentName, 1);
    for (const { agentName, times } of swallowedErrors) addCalls(counts, 'swallowed_errors', agentName, times);
  }
  return counts;
}

type Counted = MetricName & MetricFamily;
type Counts = { [name in Counted]?: number } & { [name: `${Counted}/${string}`]: number };

function addCalls(counts: Counts, name: Counted, agentName: string, times: number): void {
  for (const key of [name, `${name}/${agentName}`] as const) counts[key] = (counts[key] ?? 0) + times;
}

function addAll(counts: Counts, name: Counted, byAgent: CountsByAgent<string>): void {
  for (const [agent, causes] of Object.entries(byAgent)) {
    for (const [cause, count = 0] of Object.entries(causes)) {
      for (const key of [name, `${name}/${agent}/${cause}`] as const) counts[key] = (counts[key] ?? 0) + count;
    }
  }
}
