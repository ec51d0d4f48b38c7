import type { Cause } from '../cause.js';
import { episodeIds, trainingEpisodes } from '../episode-sets.js';
import type { EpisodeOf, ExaminedRun } from '../examined-run.js';
import { median, type FigureSeries } from '../figures/series.js';
import { figure, nameSetting } from '../words.js';

/** A step whose norm is this many times that of its neighbours moves the weights as far as that many of them. */
const leastRatio = 10;
/** A spike is also this many robust deviations away, because the norms of small batches vary strongly. */
const leastDeviations = 6;
/** Neighbours on each side. */
const reach = 10;
/** A short run has fewer. */
const leastAround = 6;
/** A single spike may be one odd batch. In a run of fewer than 20 steps, two are enough. */
const leastSpikes = 3;
/** Two spikes of this size are not odd batches. */
const hugeRatio = 100;
/** Rewards of a few episodes that are this many times the range of all others away are not meant as rewards. */
const leastDistance = 20;
const mostOutside = 0.05;

export const gradientSpikes: Cause = {
  name: 'gradient_spikes',
  needs: ['grad_norm'],
  threshold:
    '3 steps (2 in a run of fewer than 20) whose gradient norm is over 10 times, and 6 robust deviations above, that of the 20 steps around them; 2 if they are 100 times as large; or 1 whose step has a reward of a failure that is 20 times the range of all others away from them',
  explains: ['collapsed', 'stopped_learning', 'no_gain'],
  look(run) {
    const { grad_norm: norms } = run.figures;
    const spikes = norms === undefined ? [] : findSpikes(norms);
    const [first] = spikes;
    if (norms === undefined || first === undefined) return undefined;
    const outside = findOutside(run, spikes);
    const huge = spikes.filter(({ ratio }) => ratio >= hugeRatio).length;
    const isShort = norms.values.length < 20;
    if (spikes.length < (isShort ? leastSpikes - 1 : leastSpikes) && huge < 2 && outside === undefined)
      return undefined;
    const largest = Math.max(...spikes.map(({ ratio }) => ratio));
    const steps = spikes.slice(0, 5).map(({ step }) => step);
    const usual = figure(median(norms.values.filter((value) => value > 0)));
    return {
      summary: `The gradient norm jumped in ${spikes.length} of ${norms.values.length} steps, by up to ${figure(largest)} times that of the steps around it (steps ${steps.join(', ')}${spikes.length > 5 ? ', ...' : ''}).${outside?.what ?? ''}`,
      cure:
        outside === undefined
          ? `Lower trainer_common.optim.grad_clip to the usual norm (${usual}) or ${nameSetting('trainer_common.optim.lr', run.settings.rate)}, and look at the episodes of these steps for very long or very rare answers.`
          : `Find out what gives these rewards. If a value means that there is no score, throw an error instead, so that the episode fails and is not trained; otherwise limit the reward to the range of the others. Until then, lower trainer_common.optim.grad_clip to the usual norm (${usual}).`,
      ...(outside !== undefined && {
        asks: 'change' as const,
        episodes: episodeIds(outside.episodes),
        explains: [...gradientSpikes.explains, ...ofSpikes],
      }),
      since: first.step,
      taken: Math.min(0.5, (spikes.length * leastRatio) / norms.values.length),
    };
  },
};

/** Causes that follow from a step that such rewards decide. */
const ofSpikes = [
  'never_solved',
  'lost_part',
  'lost_variety',
  'no_spread',
  'zero_gradients',
  'hollow_reward',
  'swings',
];

type Outside = { readonly episodes: readonly EpisodeOf[]; readonly what: string };

/** The few episodes of the spikes' steps with rewards far outside of the range of all others. Rare successes may have them. */
function findOutside(run: ExaminedRun, spikes: readonly Spike[]): Outside | undefined {
  const all = trainingEpisodes(run).flatMap((each) =>
    each.reward === undefined ? [] : [{ ...each, reward: each.reward }],
  );
  const sorted = all.map(({ reward }) => reward).toSorted((left, right) => left - right);
  const cut = Math.ceil(mostOutside * sorted.length);
  const [low = 0, high = 0] = [sorted[cut], sorted.at(-1 - cut)];
  const range = high === low ? Math.max(1, Math.abs(high)) : high - low;
  const isOutside = ({ reward, success }: (typeof all)[number]): boolean =>
    !success && Math.max(low - reward, reward - high) > leastDistance * range;
  const steps = new Set(spikes.map(({ step }) => step));
  const episodes = all.filter((each) => isOutside(each) && steps.has(each.step));
  const [first] = episodes;
  if (first === undefined) return undefined;
  const what = ` ${episodes.length} of ${all.length} episodes are in these steps and have rewards such as ${figure(first.reward)}. 90% of all rewards are from ${figure(low)} to ${figure(high)}.`;
  return { episodes, what };
}

type Spike = { readonly step: number; readonly ratio: number };

function findSpikes({ steps, values }: FigureSeries): readonly Spike[] {
  const logs = values.map((value) => (value > 0 ? Math.log(value) : undefined));
  return logs.flatMap((log, at) => {
    if (log === undefined) return [];
    const around = logs
      .slice(Math.max(0, at - reach), at + reach + 1)
      .filter((each, index) => each !== undefined && index !== Math.min(at, reach)) as number[];
    if (around.length < leastAround) return [];
    const usual = median(around);
    const deviation = 1.4826 * median(around.map((each) => Math.abs(each - usual)));
    const excess = log - usual;
    return excess > Math.log(leastRatio) && excess > leastDeviations * deviation
      ? [{ step: steps[at] ?? 0, ratio: Math.exp(excess) }]
      : [];
  });
}
