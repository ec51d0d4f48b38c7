import { addUp } from '@agentjet/core';
import type { TaskScore } from '@agentjet/core/success';
import { countValues, type GroupRules, type ProbedTask, type ValueCounts } from './outcomes.js';
import { chanceOfRepeats, fitRepeatPrior, type RepeatPrior } from './repeat-prior.js';

/**
 * The share of groups that have a gradient. A group of n episodes is a random choice of n episodes of a task. If the
 * task has at least n episodes, all such choices are counted, which gives an unbiased estimate. For a larger group, the
 * estimate uses how often an episode repeats the rewards of another episode, over all tasks.
 */

/** Returns for each task the chance that a group of `numRepeat` episodes trains. It is 0 for a task without episodes. */
function chancesToTrain(
  tasks: readonly Pick<ProbedTask, 'outcomes'>[],
  numRepeat: number,
  rules: GroupRules,
): readonly number[] {
  const counted = tasks.map(countValues);
  const total = addUp(counted.map(({ completed, failed }) => completed + failed));
  const shareFailed = total === 0 ? 0 : addUp(counted.map(({ failed }) => failed)) / total;
  let prior: RepeatPrior | undefined;
  return counted.map((task) => {
    if (task.completed === 0) return 0;
    if (task.completed + task.failed >= numRepeat) return trains(numRepeat, rules, ofChoices(task, numRepeat, rules));
    prior ??= fitRepeatPrior(counted);
    return trains(numRepeat, rules, ofFurther(task, { numRepeat, rules, prior, shareFailed }));
  });
}

/**
 * Returns for each task how many groups of `numRepeat` its episodes would fill (`trials`), and how many of these would
 * train (`successes`). Neither has to be a whole number. The sum of `successes` over the sum of `trials` predicts the
 * share of groups that train.
 */
export function scoreGroups(
  tasks: readonly Pick<ProbedTask, 'outcomes'>[],
  numRepeat: number,
  rules: GroupRules,
): readonly TaskScore[] {
  return chancesToTrain(tasks, numRepeat, rules).map((chance, index) => {
    const trials = (tasks[index]?.outcomes.length ?? 0) / numRepeat;
    return { successes: chance * trials, trials };
  });
}

/**
 * For a group, the chance that `numFailed` of its episodes fail, and the chance that `numCompleted` completed episodes
 * give no gradient.
 */
type Odds = {
  readonly ofFailed: (numFailed: number) => number;
  readonly withoutGradient: (numCompleted: number) => number;
};

function trains(numRepeat: number, { dropsFailed, minShare }: GroupRules, odds: Odds): number {
  const needed = Math.min(numRepeat, dropsFailed ? numRepeat : Math.max(2, minShare * numRepeat));
  let chance = 0;
  for (let numFailed = 0; numRepeat - numFailed >= needed; numFailed++)
    chance += odds.ofFailed(numFailed) * (1 - odds.withoutGradient(numRepeat - numFailed));
  return Math.min(1, Math.max(0, chance));
}

/** Computes the odds by counting all ways to choose `numRepeat` of the task's episodes. */
function ofChoices(task: ValueCounts, numRepeat: number, rules: GroupRules): Odds {
  const { completed, failed } = task;
  return {
    ofFailed: (numFailed) =>
      numFailed > failed || numRepeat - numFailed > completed
        ? 0
        : Math.exp(
            logChoices(failed, numFailed) +
              logChoices(completed, numRepeat - numFailed) -
              logChoices(completed + failed, numRepeat),
          ),
    withoutGradient: (number) => {
      const among = (count: number): number =>
        count < number ? 0 : Math.exp(logChoices(count, number) - logChoices(completed, number));
      return addUp(untrained(task.counts, rules).map(among)) + maskedWithout(task, rules, among);
    },
  };
}

type Further = {
  readonly numRepeat: number;
  readonly rules: GroupRules;
  readonly prior: RepeatPrior;
  readonly shareFailed: number;
};

/** Predicts a group that is larger than the number of the task's episodes. */
function ofFurther(
  { counts, masked, completed }: ValueCounts,
  { numRepeat, rules, prior, shareFailed }: Further,
): Odds {
  return {
    ofFailed: (numFailed) =>
      Math.exp(logChoices(numRepeat, numFailed)) *
      shareFailed ** numFailed *
      (1 - shareFailed) ** (numRepeat - numFailed),
    withoutGradient: (number) => {
      const equal = addUp(
        untrained(counts, rules).map(
          (count) =>
            (count / completed) * chanceOfRepeats(prior, { repeats: count - 1, others: completed - 1 }, number - 1),
        ),
      );
      // Being masked and having equal rewards are taken as independent.
      const allMasked = (addUp([...masked.values()]) / completed) ** number;
      return equal + allMasked * (1 - equal);
    },
  };
}

/**
 * Returns the chance that all episodes of a group are masked and do not have equal rewards. A group of equal rewards has
 * no gradient anyway. `among` gives the chance that all episodes of a group are among `count` ones of the task.
 */
function maskedWithout({ masked }: ValueCounts, rules: GroupRules, among: (count: number) => number): number {
  return among(addUp([...masked.values()])) - addUp(untrained(masked, rules).map(among));
}

/**
 * Returns the counts of the values that are not in `trainedIfEqual`. If all episodes of a group have such a value, the
 * group has no gradient.
 */
const untrained = (counts: ReadonlyMap<string, number>, { trainedIfEqual }: GroupRules): readonly number[] =>
  [...counts].flatMap(([value, count]) => (trainedIfEqual.has(value) ? [] : [count]));

/** Returns the logarithm of the number of ways to choose k of n items. */
function logChoices(n: number, k: number): number {
  let total = 0;
  for (let index = 0; index < k; index++) total += Math.log(n - index) - Math.log(k - index);
  return total;
}
