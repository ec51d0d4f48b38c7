import type { Cause } from '../cause.js';
import { between, meanOf } from '../figures/series.js';
import { episodeIds, mostFrequent, trainingEpisodes } from '../episode-sets.js';
import { percent } from '../words.js';

const leastShare = 0.05;

export const outages: Cause = {
  name: 'outages',
  needs: ['outages'],
  threshold: '5% of the attempts: each is sampled again, or is missing from its group',
  explains: ['stragglers', 'no_gain'],
  look(run) {
    const series = run.figures.outages;
    if (series === undefined) return undefined;
    const share = meanOf(between(series, 0, 1).values);
    if (share < leastShare) return undefined;
    const lost = trainingEpisodes(run).filter(({ error }) => error?.outage === true);
    const most = mostFrequent(lost.map(({ error }) => error?.message ?? ''));
    const first = series.steps[series.values.findIndex((value) => value > 0)];
    return {
      asks: 'change',
      summary: `${percent(share)} of the attempts were lost to outages${most === undefined ? '' : `, most with "${most.value.slice(0, 120)}"`}. They get no reward.`,
      cure: 'Repair the service that fails, or ask less of it at a time: rollout.max_env_worker for tools and environments, max_concurrent of the judge. rollout.max_attempts and rollout.max_outage decide how long the run tries.',
      episodes: episodeIds(lost),
      ...(first !== undefined && { since: first }),
      taken: share,
    };
  },
};
