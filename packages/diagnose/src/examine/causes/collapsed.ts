import { wilsonInterval, type Rate } from '@agentjet/core/success';
import { hasCollapsed } from '../../limits.js';
import type { Cause } from '../cause.js';
import type { ExaminedRun } from '../examined-run.js';
import { changeBetween, rises } from '../figures/change.js';
import { luckOf } from '../episode-sets.js';
import { between, meanOf, noiseIn } from '../figures/series.js';
import { areShares, trainingRates } from '../outcome.js';
import { figure } from '../words.js';
import { isUnheld } from './kl-drift.js';
import { cureOfCollapse } from '../../cures.js';

type Level = Rate & { readonly step: number };

export const collapsed: Cause = {
  name: 'collapsed',
  needs: ['any success'],
  threshold:
    'success under half of its best, with 95% intervals that do not touch; stretches in which it stays so low count together. A reward that rises is another cause',
  explains: [
    'never_solved',
    'no_spread',
    'zero_gradients',
    'lost_variety',
    'stopped_learning',
    'no_gain',
    'temperature_too_high',
    'format_not_met',
    'cut_answers',
    'length_drift',
    'tools_not_called',
    'tools_refused',
  ],
  look(run) {
    if (earnsMore(run)) return undefined;
    for (const { on, levels } of measuresOf(run)) {
      const best = levels.toSorted((left, right) => right.low - left.low)[0];
      const last = levels.at(-1);
      if (last === undefined || best === undefined || best.step >= last.step) continue;
      if (!hasCollapsed(last.rate, best.rate) || last.high >= best.low) continue;
      const { entropy } = run.figures;
      const spread =
        entropy === undefined
          ? ''
          : ` Entropy went from ${figure(meanOf(between(entropy, 0, 0.1).values))} to ${figure(meanOf(between(entropy, 0.9, 1).values))}.`;
      return {
        summary: `The model has lost what it could do: ${on} fell from ${figure(best.rate)} at step ${best.step} to ${figure(last.rate)} at step ${last.step}.${spread}`,
        cure: cureOfCollapse(run.settings, best.step),
        episodes: failures(run, last.step),
        since: best.step,
        ...(!isUnheld(run) && { explains: [...collapsed.explains, 'kl_drift'] }),
        taken: 1 - last.rate / best.rate,
      };
    }
    return undefined;
  },
};

/** If a model earns more than at the start, it has learned what the reward pays for, and has not collapsed. */
function earnsMore({ figures: { reward } }: ExaminedRun): boolean {
  return rises(reward && changeBetween(reward, { from: between(reward, 0, 0.25), to: between(reward, 0.75, 1) }));
}

/** Success on held-out tasks is compared first. A reward with more values shows a collapse of a model that solves nothing. */
function measuresOf(run: ExaminedRun): readonly { readonly on: string; readonly levels: readonly Level[] }[] {
  return [
    { on: 'success on held-out tasks', levels: areShares(run.evaluations) ? heldOutLevels(run) : [] },
    { on: 'success on training tasks', levels: joinTrained(trainingRates(run)) },
    { on: 'the reward above its lowest value', levels: rewardLevels(run) },
  ];
}

const heldOutLevels = ({ evaluations }: ExaminedRun): readonly Level[] =>
  evaluations.map(({ step, score, low, high }) => ({
    step,
    rate: score,
    low: low ?? Math.max(0, score - 0.1),
    high: high ?? Math.min(1, score + 0.1),
  }));

type Trained = Level & { readonly groups: number };

/** Joins stretches into one level, because a single stretch of a short run has few groups. */
function join(levels: readonly Trained[]): Trained {
  const groups = levels.reduce((sum, level) => sum + level.groups, 0);
  const rate = levels.reduce((sum, level) => sum + level.rate * level.groups, 0) / groups;
  return { step: levels.at(-1)?.step ?? 0, rate, groups, ...wilsonInterval(rate, groups) };
}

/** Cuts the run into two levels at the deepest fall of success, if their intervals are apart. */
function joinTrained(levels: readonly Trained[]): readonly Level[] {
  const cuts = levels
    .slice(1)
    .map((_, at) => [join(levels.slice(0, at + 1)), join(levels.slice(at + 1))] as const)
    // A single stretch may have drawn easy tasks, so nearly everything must be lost after it.
    .filter(([before, after], at) => at > 0 || hasCollapsed(after.rate, before.rate / 2));
  const deepest = cuts.toSorted((left, right) => gapOf(right) - gapOf(left))[0];
  return deepest === undefined || gapOf(deepest) < leastGap ? endJoined(levels) : deepest;
}

/** The deepest of many falls is partly luck. */
const leastGap = 0.05;
const gapOf = ([before, after]: readonly [Level, Level]): number => before.low - after.high;

/** If success stayed low for several stretches at the end, they are one level. */
function endJoined(levels: readonly Trained[]): readonly Level[] {
  const best = levels.toSorted((left, right) => right.low - left.low)[0]?.rate ?? 0;
  const low = levels.findLastIndex(({ rate }) => !hasCollapsed(rate, best)) + 1;
  return levels.length - low < 2 ? levels : [...levels.slice(0, low), join(levels.slice(low))];
}

/** Success may stay at 0 although the model earned parts of the reward, and earns none any more. */
function rewardLevels(run: ExaminedRun): readonly Level[] {
  const {
    figures: { reward },
    episodes = [],
  } = run;
  if (reward === undefined || episodes.length === 0) return [];
  const earned = episodes.flatMap((each) => (each.phase === 'train' ? (each.reward ?? []) : []));
  const floor = earned.reduce((least, value) => Math.min(least, value), Infinity);
  const noise = Math.max(noiseIn(reward) ?? 0, luckOf(run));
  const fall = changeBetween(reward, { from: between(reward, 0, 0.25), to: between(reward, 0.7, 1), noise });
  if (fall === undefined || fall.high >= 0) return [];
  const margin = (fall.high - fall.low) / (2 * Math.SQRT2);
  return [fall.before, fall.after].map((value, at) => ({
    step: reward.steps.at(at === 0 ? Math.floor(reward.steps.length / 4) : -1) ?? 0,
    rate: value - floor,
    low: value - floor - margin,
    high: value - floor + margin,
  }));
}

const failures = ({ episodes = [] }: ExaminedRun, step: number): readonly string[] =>
  episodes.filter((episode) => episode.step === step && !episode.success).map(({ id }) => id);
