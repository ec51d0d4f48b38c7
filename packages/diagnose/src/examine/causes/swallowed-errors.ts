import type { Cause } from '../cause.js';
import { episodeIds, trainingEpisodes } from '../episode-sets.js';
import { percent } from '../words.js';

const leastShare = 0.05;

export const manySwallowedErrors: Cause = {
  name: 'swallowed_errors',
  needs: ['episodes'],
  threshold: '5% of the training episodes: the reward of such an episode is for the reaction to an error',
  explains: ['never_solved', 'no_gain'],
  look(run) {
    const all = trainingEpisodes(run);
    const affected = all.filter(({ swallowed }) => swallowed > 0);
    if (affected.length < Math.max(3, leastShare * all.length)) return undefined;
    return {
      summary: `In ${affected.length} of ${all.length} training episodes (${percent(affected.length / all.length)}) a model call failed and the episode continued, as if a tool had failed.`,
      cure: 'Repair the call; ajet inspect shows it. Ignore this if the agent handles the error.',
      episodes: episodeIds(affected),
      taken: affected.length / all.length,
    };
  },
};
