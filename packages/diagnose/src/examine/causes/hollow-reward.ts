import type { Cause, Sighting } from '../cause.js';
import { comparePreference, groupsOf, episodeIds, prefersNothing, trainingEpisodes } from '../episode-sets.js';
import type { ExaminedRun } from '../examined-run.js';
import { changeBetween, rises, type FigureChange } from '../figures/change.js';
import { between, type FigureSeries, since } from '../figures/series.js';
import { evaluationSeries, heldOutChange, isGood } from '../outcome.js';
import { figure, percent } from '../words.js';

/**
 * If the reward pays for success, both gain equally. If success gains under a quarter of that, it pays for something
 * else.
 */
const leastShare = 0.25;

const cure =
  'Read the episodes with the highest reward: the reward pays for something that does not solve the task. Then change the judge or its parts; keep the checkpoint with the best success (trainer_common.keep_best: success_rate).';

export const hollowReward: Cause = {
  name: 'hollow_reward',
  needs: ['reward'],
  threshold:
    'relative to their scales, success gains under a quarter of what the reward gains; or successes earn more than failures in under three quarters of the groups that have both',
  explains: ['collapsed', 'no_spread', 'stopped_learning', 'no_gain', 'lost_variety'],
  look(run) {
    if (isGood(run)) return undefined;
    const preferred = preferences(run);
    if (preferred !== undefined) return preferred;
    const heldOut = compareHeldOut(run);
    for (const { on, series } of measuresOf(run)) {
      const found = compare(run.figures.reward, series) ?? (on === heldOutScore ? heldOut : undefined);
      if (found !== undefined)
        return {
          summary: `The reward rose from ${figure(found.reward.before)} to ${figure(found.reward.after)}, but ${on} went from ${figure(found.success.before)} to ${figure(found.success.after)}.`,
          cure,
          episodes: paid(run),
          since: found.from,
          taken: 1 - Math.max(0, found.share),
        };
    }
    return undefined;
  },
};

function preferences(run: ExaminedRun): Sighting | undefined {
  const preference = comparePreference(groupsOf(trainingEpisodes(run)), ({ reward = 0 }) => reward);
  const { compared, agreeing, against } = preference;
  if (!prefersNothing(preference)) return undefined;
  return {
    summary: `The reward does not follow success: of ${compared} groups with successes and failures, the successes earned more in ${agreeing} (${percent(agreeing / compared)}).`,
    cure,
    episodes: episodeIds(against),
    taken: 1 - agreeing / compared,
  };
}

/** Success in training is compared first, because the same episodes earned the reward. */
function measuresOf(run: ExaminedRun): readonly { readonly on: string; readonly series: FigureSeries }[] {
  const { figures, evaluations, episodes } = run;
  // With episodes, `preferences` compares within groups. A strict success may begin to rise long after the reward.
  const trained = episodes === undefined ? figures.success : undefined;
  const hasRisen = evaluations.some(({ low }) => low !== undefined) && rises(heldOutChange(run));
  return [
    ...(trained === undefined ? [] : [{ on: 'success on the same episodes', series: trained }]),
    ...(evaluations.length < 3 || hasRisen ? [] : [{ on: heldOutScore, series: evaluationSeries(evaluations) }]),
  ];
}

const heldOutScore = 'the score on held-out tasks';

type Comparison = {
  readonly reward: FigureChange;
  readonly success: FigureChange;
  readonly share: number;
  readonly from: number;
};

/** Compares over the whole run, and over its second half. */
function compare(reward: FigureSeries | undefined, success: FigureSeries): Comparison | undefined {
  if (reward === undefined) return undefined;
  const first = Math.min(reward.steps[0] ?? 0, success.steps[0] ?? 0);
  const last = reward.steps.at(-1) ?? 0;
  for (const from of [first, (first + last) / 2]) {
    const found = compareSince(from, { reward, success });
    if (found !== undefined) return found;
  }
  return undefined;
}

function compareSince(
  from: number,
  all: { readonly reward: FigureSeries; readonly success: FigureSeries },
): Comparison | undefined {
  const [reward, success] = [changeSince(from, all.reward), changeSince(from, all.success)];
  if (reward === undefined || success === undefined) return undefined;
  return compareChanges({ reward, success, from }, all);
}

/** Compares the reward with success on held-out tasks. Few evaluations are enough, because each has an interval. */
function compareHeldOut(run: ExaminedRun): Comparison | undefined {
  const { reward: series } = run.figures;
  const [reward, success] = [series && changeSince(series.steps[0] ?? 0, series), heldOutChange(run)];
  if (series === undefined || reward === undefined || success === undefined) return undefined;
  return compareChanges(
    { reward, success, from: run.evaluations[0]?.step ?? 0 },
    { reward: series, success: evaluationSeries(run.evaluations) },
  );
}

function compareChanges(
  { reward, success, from }: Omit<Comparison, 'share'>,
  all: { readonly reward: FigureSeries; readonly success: FigureSeries },
): Comparison | undefined {
  if (!rises(reward)) return undefined;
  const grown = reward.difference / scaleOf(all.reward);
  const followed = success.difference / scaleOf(all.success);
  const bound = success.high / scaleOf(all.success);
  if (grown < 0.1 || followed >= leastShare * grown || bound >= grown) return undefined;
  return { reward, success, share: followed / grown, from };
}

function changeSince(from: number, series: FigureSeries): FigureChange | undefined {
  const stretch = since(series, from);
  const share = Math.max(0.15, 1 / Math.max(1, stretch.values.length));
  return changeBetween(series, { from: between(stretch, 0, share), to: between(stretch, 1 - share, 1) });
}

/** Shares are compared as they are. Rewards of another scale are compared by the range that they went through. */
function scaleOf({ values }: FigureSeries): number {
  const [least, most] = [Math.min(...values), Math.max(...values)];
  return least >= -0.5 && most <= 1.5 ? 1 : most - least;
}

function paid({ episodes = [] }: ExaminedRun): readonly string[] {
  const last = episodes.reduce((most, { step, phase }) => (phase === 'train' ? Math.max(most, step) : most), 0);
  return episodes
    .filter(({ step, phase, success }) => phase === 'train' && step === last && !success)
    .toSorted((left, right) => (right.reward ?? 0) - (left.reward ?? 0))
    .slice(0, 3)
    .map(({ id }) => id);
}
