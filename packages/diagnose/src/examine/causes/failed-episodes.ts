import type { Cause } from '../cause.js';
import { episodeIds, mostFrequent, trainingEpisodes } from '../episode-sets.js';
import { percent } from '../words.js';

/** A failed episode trains nothing, or trains a reward of 0 that the agent did not earn. */
const leastShare = 0.05;
/** With this share, failed episodes slow down even a run that learns. */
const alwaysShare = 0.1;

export const failedEpisodes: Cause = {
  name: 'failed_episodes',
  needs: ['episodes'],
  threshold: '5% of the training episodes: a failed episode teaches nothing about the task',
  explains: ['never_solved', 'no_spread', 'zero_gradients', 'no_gain', 'stopped_learning'],
  explainsFrom: 0.15,
  look(run) {
    const all = trainingEpisodes(run);
    const failed = all.filter(({ error }) => error !== undefined && !error.outage);
    if (failed.length < 3 || failed.length < leastShare * all.length) return undefined;
    const most = mostFrequent(failed.map(({ error }) => `${error?.code}: ${error?.message}`));
    return {
      ...(failed.length >= alwaysShare * all.length && { asks: 'change' as const }),
      summary: `${failed.length} of ${all.length} training episodes failed (${percent(failed.length / all.length)}), ${most?.count} of them with ${shorten(most?.value ?? '')}`,
      cure: 'Repair the agent, its tools or the judge: the error names the place, and `--backbone=debug` shows a few episodes. rollout.failed_episode_policy decides what failed episodes count.',
      episodes: episodeIds(failed),
      taken: failed.length / all.length,
    };
  },
};

const shorten = (text: string): string => (text.length <= 160 ? text : `${text.slice(0, 157)}...`);
