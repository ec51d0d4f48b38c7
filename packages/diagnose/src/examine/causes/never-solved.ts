import { chanceOfMixedGroup, formatRate } from '@agentjet/core/success';
import { lowestSuccess } from '../../limits.js';
import type { Cause } from '../cause.js';
import type { ExaminedRun } from '../examined-run.js';
import { changeBetween, rises } from '../figures/change.js';
import { between, meanOf } from '../figures/series.js';
import { describeUnseenEnds } from '../near-answers.js';
import { rewardsOfTasks } from '../rewards-of-tasks.js';
import { heldOutChange, outcomeOf, trainingSuccess, type MeasuredSuccess } from '../outcome.js';
import { percent, nameSetting } from '../words.js';

export const neverSolved: Cause = {
  name: 'never_solved',
  needs: ['any success'],
  threshold: 'success below 0.1 without a gain, and over half of the groups with equal rewards',
  explains: ['no_spread', 'zero_gradients', 'stopped_learning', 'no_gain', 'one_part'],
  look(run) {
    const success = trainingSuccess(run, 0.5) ?? outcomeOf(run);
    if (success === undefined || success.rate >= lowestSuccess || gains(run)) return undefined;
    const equal = equalShare(run, success.rate);
    if (equal === undefined || equal.share <= 0.5 || rewardsOfTasks(run) !== undefined) return undefined;
    const { groupSize } = run.settings;
    const near = describeUnseenEnds(run);
    return {
      summary: `${near === undefined ? '' : `${near} `}The model hardly solves any task: success on ${success.on} is ${formatRate(success.rate, success)}. In ${percent(equal.share)} of the groups ${equal.how} all rewards are equal, so they train nothing.`,
      cure: `${near === undefined ? '' : 'Repair the expected answers or the comparison of the judge first (task_judge.answer.compare, task_judge.answer.ignore_case). '}Use easier tasks (task_reader.difficulty leaves out those that are never solved), imitate successful transcripts first (debug.collect, then ajet sft), put example turns into the prompt, or raise ${nameSetting('rollout.num_repeat', groupSize)}.`,
      episodes: (run.episodes ?? [])
        .filter(({ success: isSuccess, phase }) => phase === 'train' && !isSuccess)
        .map(({ id }) => id),
      taken: equal.share,
    };
  },
};

function gains(run: ExaminedRun): boolean {
  const { success } = run.figures;
  const trained = success && changeBetween(success, { from: between(success, 0, 0.25), to: between(success, 0.75, 1) });
  const heldOut = heldOutChange(run);
  return [trained, heldOut].some(
    (change) => rises(change) && (change?.after ?? 0) > 2 * (change?.before ?? 0) && (change?.difference ?? 0) > 0.02,
  );
}

/** The measured share of groups with equal rewards, or the one that chance predicts for this success. */
function equalShare({ figures, settings }: ExaminedRun, rate: MeasuredSuccess['rate']) {
  const { equal_groups: equal } = figures;
  const size = settings.groupSize;
  const chance = size === undefined ? undefined : 1 - chanceOfMixedGroup(rate, size);
  const predicted = chance === undefined ? '' : `(${percent(chance)} by chance) `;
  if (equal !== undefined && equal.values.length > 0)
    return { share: meanOf(between(equal, 0.5, 1).values), how: `${predicted}`.trim() };
  return chance === undefined ? undefined : { share: chance, how: 'that chance predicts' };
}
