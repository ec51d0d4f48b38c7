import type { Cause } from '../cause.js';
import { episodeIds, trainingEpisodes } from '../episode-sets.js';
import { percent } from '../words.js';

/** With this share, every second answer after the first one begins a new branch. */
const leastShare = 0.5;

export const templateForks: Cause = {
  name: 'template_forks',
  needs: ['episodes'],
  threshold: 'half of the answers after the first of an episode: each branch is computed separately',
  explains: [
    'never_solved',
    'no_spread',
    'zero_gradients',
    'stopped_learning',
    'lost_variety',
    'no_gain',
    'stragglers',
  ],
  look(run) {
    const all = trainingEpisodes(run).filter(({ answers }) => answers > 1);
    const later = all.reduce((sum, { answers }) => sum + answers - 1, 0);
    const forked = all.filter(({ forks }) => (forks['template'] ?? 0) > 0);
    const forks = forked.reduce((sum, episode) => sum + (episode.forks['template'] ?? 0), 0);
    if (later < 20 || forks < leastShare * later) return undefined;
    return {
      summary: `The chat template rewrites what was said before: ${forks} of ${later} later answers (${percent(forks / later)}) began a new branch, so the model is trained on a history that it will not see again, and each branch costs its whole prompt.`,
      cure: 'Use a chat template that keeps earlier turns as they are: many reasoning models drop earlier thoughts, which model.chat_template_kwargs can often switch off, such as {"enable_thinking": false}.',
      episodes: episodeIds(forked),
      taken: 0.2 * (forks / later),
    };
  },
};
