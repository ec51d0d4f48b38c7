import type { CountsByAgent } from '@agentjet/context-tracker';
import type { Episode } from '@agentjet/rollout';

/**
 * What happened to the histories that agents sent, for the metrics of a step: `forks`, `splices` and `foreign_messages`, in all
 * and as `forks/<agent>/<cause>`; and in the same way `ignored_parameters`, and
 * `untrained_calls` by agent, if there were any.
 */
export function countHistories(
  episodes: readonly Pick<Episode, 'stats' | 'ignoredParameters' | 'untrainedCalls'>[],
): Readonly<Record<string, number>> {
  const counts: Record<string, number> = { forks: 0, splices: 0, foreign_messages: 0 };
  for (const { stats, ignoredParameters, untrainedCalls = [] } of episodes) {
    addAll(counts, 'forks', stats.forks);
    addAll(counts, 'splices', stats.splices);
    addAll(counts, 'foreign_messages', stats.foreignMessages);
    addAll(counts, 'ignored_parameters', ignoredParameters);
    for (const { agentName } of untrainedCalls)
      for (const key of ['untrained_calls', `untrained_calls/${agentName}`]) counts[key] = (counts[key] ?? 0) + 1;
  }
  return counts;
}

function addAll(counts: Record<string, number>, name: string, byAgent: CountsByAgent<string>): void {
  for (const [agent, causes] of Object.entries(byAgent)) {
    for (const [cause, count = 0] of Object.entries(causes)) {
      for (const key of [name, `${name}/${agent}/${cause}`]) counts[key] = (counts[key] ?? 0) + count;
    }
  }
}
