import type { Cause, Sighting } from '../cause.js';
import {
  comparePreference,
  groupsOf,
  episodeIds,
  luckOf,
  paysForLength,
  prefersNothing,
  trainingEpisodes,
} from '../episode-sets.js';
import type { ExaminedRun } from '../examined-run.js';
import { changeBetween, rises, type FigureChange } from '../figures/change.js';
import { between, noiseIn, since, type FigureSeries } from '../figures/series.js';
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
  explains: ['collapsed', 'no_spread', 'stopped_learning', 'no_gain', 'lost_variety', 'lost_part', 'never_solved'],
  look(run) {
    if (isGood(run)) return undefined;
    // If the reward pays for length, answers of another length are what it got.
    const explains = paysForLength(run)
      ? hollowReward.explains
      : [...hollowReward.explains, 'length_drift', 'cut_answers'];
    const preferred = preferences(run);
    if (preferred !== undefined) return { ...preferred, explains: [...explains, 'rate_too_low'] };
    const heldOut = compareHeldOut(run);
    for (const { on, series } of measuresOf(run)) {
      const found = compare(run, series) ?? (on === heldOutScore ? heldOut : undefined);
      if (found !== undefined)
        return {
          summary: `The reward rose from ${figure(found.reward.before)} to ${figure(found.reward.after)}, but ${on} went from ${figure(found.success.before)} to ${figure(found.success.after)}.`,
          cure,
          explains,
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
  const isStill = !rises(figures.success && changeSince(figures.success.steps[0] ?? 0, figures.success));
  const trained = episodes === undefined || isStill ? figures.success : undefined;
  const hasRisen = evaluations.some(({ low }) => low !== undefined) && rises(heldOutChange(run));
  return [
    ...(trained === undefined ? [] : [{ on: 'success on the same episodes', series: trained }]),
    ...(evaluations.length < (episodes === undefined ? 3 : 2) || hasRisen
      ? []
      : [{ on: heldOutScore, series: evaluationSeries(evaluations) }]),
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
function compare(run: ExaminedRun, success: FigureSeries): Comparison | undefined {
  const { reward } = run.figures;
  if (reward === undefined) return undefined;
  const first = Math.min(reward.steps[0] ?? 0, success.steps[0] ?? 0);
  const last = reward.steps.at(-1) ?? 0;
  for (const from of [first, (first + last) / 2]) {
    const [paid, solved] = [changeSince(from, reward, luckOf(run)), changeSince(from, success)];
    if (paid === undefined || solved === undefined) continue;
    const found = compareChanges({ reward: paid, success: solved, from }, run, rangeOf(success));
    if (found !== undefined) return found;
  }
  return undefined;
}

/** Compares the reward with success on held-out tasks. Few evaluations are enough, because each has an interval. */
function compareHeldOut(run: ExaminedRun): Comparison | undefined {
  const { reward: series } = run.figures;
  const [reward, success] = [series && changeSince(series.steps[0] ?? 0, series, luckOf(run)), heldOutChange(run)];
  if (series === undefined || reward === undefined || success === undefined) return undefined;
  const range = rangeOf(evaluationSeries(run.evaluations));
  return compareChanges({ reward, success, from: run.evaluations[0]?.step ?? 0 }, run, range);
}

/** Scores on held-out tasks may have another scale than a share. */
const rangeOf = ({ values }: FigureSeries): number =>
  Math.min(...values) >= -0.5 && Math.max(...values) <= 1.5 ? 1 : Math.max(...values) - Math.min(...values);

function compareChanges(
  { reward, success, from }: Omit<Comparison, 'share'>,
  run: ExaminedRun,
  successScale: number,
): Comparison | undefined {
  if (!rises(reward)) return undefined;
  const grown = reward.difference / scaleOf(run);
  const [followed, bound] = [success.difference / successScale, success.high / successScale];
  if (grown < 0.1 || followed >= leastShare * grown || bound >= grown) return undefined;
  return { reward, success, share: followed / grown, from };
}

const shortRun = 20;

function changeSince(from: number, series: FigureSeries, luck = 0): FigureChange | undefined {
  const stretch = since(series, from);
  const share = stretch.values.length < shortRun ? 0.25 : 0.15; // few steps differ by the tasks that they draw
  const noise = noiseIn(series);
  return changeBetween(series, {
    from: between(stretch, 0, share),
    to: between(stretch, 1 - share, 1),
    noise: noise && Math.max(noise, luck),
  });
}

/**
 * The distance from the worst to the best reward. Shares are compared as they are. Without episodes, the range of the
 * means is all that is known of another scale.
 */
function scaleOf({ episodes = [], figures: { reward } }: ExaminedRun): number {
  const values = reward?.values ?? [];
  const [least, most] = [Math.min(...values), Math.max(...values)];
  if (least >= -0.5 && most <= 1.5) return 1;
  const earned = episodes.flatMap((each) => (each.phase === 'train' ? (each.reward ?? []) : []));
  const extreme = (pick: typeof Math.max): number => earned.reduce((far, value) => pick(far, value), pick(least, most));
  return extreme(Math.max) - extreme(Math.min);
}

function paid({ episodes = [] }: ExaminedRun): readonly string[] {
  const last = episodes.reduce((most, { step, phase }) => (phase === 'train' ? Math.max(most, step) : most), 0);
  return episodes
    .filter(({ step, phase, success }) => phase === 'train' && step === last && !success)
    .toSorted((left, right) => (right.reward ?? 0) - (left.reward ?? 0))
    .slice(0, 3)
    .map(({ id }) => id);
}
