import type { Cause } from '../cause.js';
import { groupEpisodes, episodeIds, trainingEpisodes } from '../episode-sets.js';
import type { EpisodeOf } from '../examined-run.js';
import { meanOf, median } from '../figures/series.js';
import { figure } from '../words.js';

/** A step waits for its slowest episode. With a quotient of 3, the others are idle for most of the step. */
const leastQuotient = 3;
/** If the slowest episode takes less time than this, waiting for it costs too little to report. */
const leastSeconds = 1;
const leastEpisodes = 6;

export const stragglers: Cause = {
  name: 'stragglers',
  needs: ['episodes'],
  threshold: 'in half of the steps the slowest episode takes over 3 times as long as three quarters of the others',
  explains: [],
  look(run) {
    const steps = [...groupEpisodes(trainingEpisodes(run), ({ step }) => String(step)).values()];
    const measured = steps.flatMap((episodes) => (episodes.length < leastEpisodes ? [] : [measure(episodes)]));
    const slow = measured.filter(
      ({ slowest, usual }) => slowest.seconds > Math.max(leastSeconds, leastQuotient * usual),
    );
    if (measured.length === 0 || slow.length < measured.length / 2) return undefined;
    const [wait, usual] = [median(slow.map(({ slowest }) => slowest.seconds)), median(slow.map((each) => each.usual))];
    return {
      summary: `In ${slow.length} of ${measured.length} steps all wait for a few episodes: the slowest takes ${figure(wait)} s, and three quarters of the others end within ${figure(usual)} s.`,
      cure: 'Set rollout.episode_timeout or rollout.multi_turn.max_steps nearer to the usual episode, or rollout.straggler_patience; trainer_common.max_staleness and rollout.oversubscribe let the sampler begin the next step.',
      episodes: episodeIds(slow.map(({ slowest }) => slowest)),
      taken: percentLost(slow.map(({ slowest, usual: usually }) => 1 - usually / slowest.seconds)),
    };
  },
};

function measure(episodes: readonly EpisodeOf[]): { readonly slowest: EpisodeOf; readonly usual: number } {
  const sorted = episodes.toSorted((left, right) => left.seconds - right.seconds);
  const [slowest = sorted[0]] = sorted.slice(-1);
  if (slowest === undefined) throw new Error('A step without episodes has no slowest one.');
  return { slowest, usual: sorted[Math.ceil(0.75 * (sorted.length - 1)) - 1]?.seconds ?? 0 };
}

/** Waiting takes time and no training signal, so the share counts half. */
const percentLost = (shares: readonly number[]): number => meanOf(shares) / 2;
