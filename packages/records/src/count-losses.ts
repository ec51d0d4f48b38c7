import type { Episode, TaskGroup } from '@agentjet/rollout';

/**
 * For the metrics of a step: attempts that the world lost (`outages`), what they had generated, and those among all attempts whose judge
 * gave no verdict (`judge_unavailable`), which are never rewarded. What did not happen is not named.
 */
export function countLosses({
  episodes,
  lost,
}: Pick<TaskGroup, 'episodes' | 'lost'>): Readonly<Record<string, number>> {
  const attempts = [...lost, ...episodes];
  const outages = attempts.filter((each) => each.status === 'failed' && each.error.outage !== undefined);
  const unjudged = attempts.filter(lacksVerdict).length;
  return {
    ...(outages.length > 0 && {
      outages: outages.length,
      outage_tokens: outages.reduce((sum, { stats }) => sum + stats.generatedTokens, 0),
    }),
    ...(unjudged > 0 && { judge_unavailable: unjudged }),
  };
}

/** Codes of a judge that failed by itself, or said what is not a verdict. */
const codesOfJudges: ReadonlySet<string> = new Set(['judge_failed', 'bad_verdict']);

function lacksVerdict(attempt: Episode): boolean {
  if (attempt.status !== 'failed') return false;
  return attempt.error.outage?.source === 'judge' || codesOfJudges.has(attempt.error.code);
}
