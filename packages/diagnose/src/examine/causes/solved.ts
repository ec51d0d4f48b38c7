import type { Cause } from '../cause.js';
import { between, meanOf } from '../figures/series.js';
import { outcomeOf, trainingSuccess, type MeasuredSuccess } from '../outcome.js';
import { describeOutcome, percent } from '../words.js';
import { learnedSuccess } from '../../limits.js';
import { cureOfEasyTasks } from '../../cures.js';

export const solved: Cause = {
  name: 'always_solved',
  needs: ['equal_groups', 'any success'],
  threshold: 'success that may be 0.9 or more, and over half of the groups with equal rewards',
  explains: ['no_spread', 'zero_gradients', 'stopped_learning', 'no_gain', 'lost_variety'],
  look(run) {
    const { equal_groups: equal } = run.figures;
    if (equal === undefined) return undefined;
    const late = between(equal, 0.75, 1);
    const share = meanOf(late.values);
    const success = outcomeOf(run);
    if (share <= 0.5 || success === undefined || success.high < learnedSuccess || success.rate < learnedSuccess - 0.1)
      return undefined;
    return isFromStart(run) ? tooEasy(share, success) : learned(run, { share, success });
  },
};

function isFromStart(run: Parameters<Cause['look']>[0]): boolean {
  const { equal_groups: equal } = run.figures;
  const first = trainingSuccess(run, 0, 0.1);
  return (first?.rate ?? 0) >= learnedSuccess && equal !== undefined && meanOf(between(equal, 0, 0.1).values) > 0.5;
}

function tooEasy(share: number, success: MeasuredSuccess) {
  return {
    summary: `The model solved the tasks from the start: ${describeOutcome(success)}, and ${percent(share)} of the groups have equal rewards and train nothing.`,
    cure: cureOfEasyTasks,
    taken: share,
  };
}

function learned(
  { figures: { equal_groups: equal } }: Parameters<Cause['look']>[0],
  { share, success }: { readonly share: number; readonly success: MeasuredSuccess },
) {
  const values = equal?.values ?? [];
  const at = values.findIndex((_, index) => meanOf(values.slice(index, index + 5)) > 0.5);
  return {
    asks: 'nothing' as const,
    summary: `The model has learned its tasks: ${describeOutcome(success)}. ${percent(share)} of the last groups are solved by all of their episodes, so further steps change little.`,
    cure: 'Nothing is wrong. To learn more, use harder tasks (task_reader.difficulty leaves out those that are always solved).',
    ...(at >= 0 && { since: equal?.steps[at] ?? 0 }),
    taken: 0, // so that another finding about a run in order is the first one
  };
}
