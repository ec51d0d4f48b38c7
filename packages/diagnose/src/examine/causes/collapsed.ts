import { wilsonInterval, type Rate } from '@agentjet/core/success';
import { collapsedShare } from '../../limits.js';
import type { Cause } from '../cause.js';
import type { ExaminedRun } from '../examined-run.js';
import { changeBetween, rises } from '../figures/change.js';
import { between, meanOf, type FigureSeries } from '../figures/series.js';
import { areShares, countGroups } from '../outcome.js';
import { figure, nameSetting } from '../words.js';

type Level = Rate & { readonly step: number; readonly groups?: number };

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
      const last = best && endOf(levels, best.rate);
      if (last === undefined || best === undefined || best.step >= last.step) continue;
      if (last.rate >= collapsedShare * best.rate || last.high >= best.low) continue;
      const { entropy } = run.figures;
      const spread =
        entropy === undefined
          ? ''
          : ` Entropy went from ${figure(meanOf(between(entropy, 0, 0.1).values))} to ${figure(meanOf(between(entropy, 0.9, 1).values))}.`;
      return {
        summary: `The model has lost what it could do: success on ${on} fell from ${figure(best.rate)} at step ${best.step} to ${figure(last.rate)} at step ${last.step}.${spread}`,
        cure: `Begin again, or resume from a checkpoint near step ${best.step}, with a lower ${nameSetting('trainer_common.optim.lr', run.settings.rate)}${run.settings.usesKl === true ? '' : ', or set trainer_common.use_kl_loss'}. trainer_common.keep_best: success_rate keeps the best checkpoint.`,
        episodes: failures(run, last.step),
        since: best.step,
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

function measuresOf(run: ExaminedRun): readonly { readonly on: string; readonly levels: readonly Level[] }[] {
  const { success } = run.figures;
  return [
    { on: 'held-out tasks', levels: areShares(run.evaluations) ? heldOutLevels(run) : [] },
    { on: 'training tasks', levels: success === undefined ? [] : trainingLevels(run, success) },
  ];
}

const heldOutLevels = ({ evaluations }: ExaminedRun): readonly Level[] =>
  evaluations.map(({ step, score, low, high }) => ({
    step,
    rate: score,
    low: low ?? Math.max(0, score - 0.1),
    high: high ?? Math.min(1, score + 0.1),
  }));

/** The mean of each tenth of the run. */
function trainingLevels(run: ExaminedRun, success: FigureSeries): readonly Level[] {
  const stretches = Math.min(10, success.values.length);
  return Array.from({ length: stretches }, (_, at) => {
    const stretch = between(success, at / stretches, (at + 1) / stretches);
    const rate = meanOf(stretch.values);
    const groups = countGroups(run, stretch);
    return { step: stretch.steps.at(-1) ?? 0, rate, groups, ...wilsonInterval(rate, groups) };
  });
}

/**
 * Returns the level at the end. If success stayed low for several stretches, they are joined into one level, because a
 * single stretch of a short run has few groups.
 */
function endOf(levels: readonly Level[], best: number): Level | undefined {
  const last = levels.at(-1);
  const end = levels.slice(levels.findLastIndex(({ rate }) => rate >= collapsedShare * best) + 1);
  const groups = end.reduce((sum, level) => sum + (level.groups ?? 0), 0);
  if (last === undefined || end.length < 2 || groups === 0) return last;
  const rate = end.reduce((sum, level) => sum + level.rate * (level.groups ?? 0), 0) / groups;
  return { step: last.step, rate, groups, ...wilsonInterval(rate, groups) };
}

const failures = ({ episodes = [] }: ExaminedRun, step: number): readonly string[] =>
  episodes.filter((episode) => episode.step === step && !episode.success).map(({ id }) => id);
