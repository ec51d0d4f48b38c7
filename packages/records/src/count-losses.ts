import type { MetricValues } from '@agentjet/core';
import type { Episode, TaskGroup } from '@agentjet/rollout';

/**
 * Counts lost attempts for the metrics of a step: attempts that were lost to an outage (`outages`), the tokens that
 * they had generated, and attempts whose judge gave no verdict (`judge_unavailable`). None of these attempts gets a
 * reward. `judge_outages` counts attempts that waited for a judge that could not be reached, with or without a verdict
 * in the end. Counts of zero are left out.
 */
export function countLosses({ episodes, lost }: Pick<TaskGroup, 'episodes' | 'lost'>): MetricValues {
  const attempts = [...lost, ...episodes];
  const outages = attempts.filter((each) => each.status === 'failed' && each.error.outage !== undefined);
  const waits = attempts.flatMap(({ judgeOutage }) => judgeOutage ?? []);
  const unjudged = attempts.filter(lacksVerdict).length;
  return {
    ...(outages.length > 0 && {
      outages: outages.length,
      outage_tokens: outages.reduce((sum, { stats }) => sum + stats.generatedTokens, 0),
    }),
    ...(waits.length > 0 && {
      judge_outages: waits.length,
      judge_outage_requests: waits.reduce((sum, { requests }) => sum + requests, 0),
      judge_outage_seconds: waits.reduce((sum, { seconds }) => sum + seconds, 0),
    }),
    ...(unjudged > 0 && { judge_unavailable: unjudged }),
  };
}

/** Error codes which mean that the judge failed, or that its answer is not a verdict. */
const codesOfJudges: ReadonlySet<string> = new Set(['judge_failed', 'bad_verdict']);

function lacksVerdict(attempt: Episode): boolean {
  if (attempt.status !== 'failed') return false;
  return attempt.error.outage?.source === 'judge' || codesOfJudges.has(attempt.error.code);
}
