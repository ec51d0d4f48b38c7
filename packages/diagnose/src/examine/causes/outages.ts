import { formatSeconds } from '@agentjet/core';
import type { Cause, Sighting } from '../cause.js';
import { between, meanOf, type FigureSeries } from '../figures/series.js';
import { episodeIds, mostFrequent, trainingEpisodes } from '../episode-sets.js';
import type { ExaminedRun } from '../examined-run.js';
import { percent } from '../words.js';

const leastShare = 0.05;
/** If so many attempts are lost, what is left says little about the tasks. */
const manyLost = 0.2;

export const outages: Cause = {
  name: 'outages',
  needs: ['outages'],
  threshold:
    '5% of the attempts: each is sampled again, is missing from its group, or holds up its step until the judge answers',
  explains: ['stragglers', 'no_spread', 'zero_gradients', 'stopped_learning', 'failed_episodes', 'no_gain'],
  look: (run) => lostAttempts(run) ?? waitedForJudge(run),
};

function lostAttempts(run: ExaminedRun): Sighting | undefined {
  const share = shareOf(run.figures.outages);
  if (share < leastShare) return undefined;
  const lost = trainingEpisodes(run).filter(({ error }) => error?.outage === true);
  const most = mostFrequent(lost.map(({ error }) => error?.message ?? ''));
  return {
    asks: 'change',
    summary: `${percent(share)} of the attempts were lost to outages${most === undefined ? '' : `, most with "${most.value.slice(0, 120)}"`}. They get no reward.`,
    cure: 'Repair the service that fails, or ask less of it at a time: rollout.max_env_worker for tools and environments, max_concurrent of the judge. rollout.max_attempts and rollout.max_outage decide how long the run tries.',
    episodes: episodeIds(lost),
    ...sinceFirst(run.figures.outages),
    ...(share >= manyLost && { explains: [...outages.explains, 'never_solved', 'rate_too_low'] }),
    taken: share,
  };
}

/** An outage of the judge that ends in time loses no episode, but the step waits for it. */
function waitedForJudge(run: ExaminedRun): Sighting | undefined {
  const share = shareOf(run.figures.judge_outages);
  if (share < leastShare) return undefined;
  const waited = trainingEpisodes(run).filter((episode) => episode.waited !== undefined);
  const longest = Math.max(0, ...waited.map((episode) => episode.waited ?? 0));
  const how = longest === 0 ? '' : `, one of them for ${formatSeconds(longest)}`;
  return {
    asks: 'change',
    summary: `${percent(share)} of the episodes waited for a judge that could not be reached${how}. Their steps waited with them.`,
    cure: 'Repair the service that the judge asks, give it more time, or ask less of it at a time (max_concurrent of the judge). rollout.score_patience decides how long an episode waits.',
    episodes: episodeIds(waited.toSorted((left, right) => (right.waited ?? 0) - (left.waited ?? 0))),
    ...sinceFirst(run.figures.judge_outages),
    taken: share,
  };
}

const shareOf = (series: FigureSeries | undefined): number =>
  series === undefined ? 0 : meanOf(between(series, 0, 1).values);

function sinceFirst(series: FigureSeries | undefined): { readonly since?: number } {
  const first = series?.steps[series.values.findIndex((value) => value > 0)];
  return first === undefined ? {} : { since: first };
}
