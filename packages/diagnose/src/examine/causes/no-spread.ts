import { chanceOfMixedGroup, formatRate, wilsonInterval } from '@agentjet/core/success';
import type { Cause, Sighting } from '../cause.js';
import { groupsOf, episodeIds, trainingEpisodes } from '../episode-sets.js';
import { changeBetween, rises } from '../figures/change.js';
import type { ExaminedRun } from '../examined-run.js';
import { between, meanOf } from '../figures/series.js';
import { countGroups, isGood } from '../outcome.js';
import { rewardsOfTasks } from '../rewards-of-tasks.js';
import { percent, nameSetting } from '../words.js';

export const noSpread: Cause = {
  name: 'no_spread',
  needs: ['equal_groups', 'success'],
  threshold:
    'over half of the groups have equal rewards, and the share is 20 points above the one that chance predicts for this success and group size; or over 40% have, and chance would leave half as many in groups of 8; or 80% have, and groups without any success differ in their reward',
  explains: ['zero_gradients', 'stopped_learning', 'no_gain'],
  look(run) {
    const { equal_groups: equal, success } = run.figures;
    const { groupSize } = run.settings;
    if (equal === undefined || success === undefined || groupSize === undefined || isGood(run)) return undefined;
    const ofTasks = dependsOnTask(run);
    if (ofTasks !== undefined) return ofTasks;
    const late = between(equal, 0.5, 1);
    const observed = meanOf(late.values);
    const steps = new Set(late.steps);
    const rates = success.values.filter((_, at) => steps.has(success.steps[at] ?? -1));
    const chance = 1 - meanOf(rates.map((rate) => chanceOfMixedGroup(rate, groupSize)));
    const groups = countGroups(run, late);
    if (wilsonInterval(observed, groups).low <= Math.max(0.5, chance + 0.2))
      return tooSmall(run, { observed, groups, rate: meanOf(rates) });
    return {
      summary: `${percent(observed)} of the ${groups} groups since step ${late.steps[0]} have equal rewards and train nothing; by chance it would be ${percent(chance)} at a success of ${formatRate(meanOf(rates), wilsonInterval(meanOf(rates), groups))} in groups of ${groupSize}. The model solves a task in all episodes of its group or in none.`,
      cure: `Use tasks between the two kinds (task_reader.difficulty finds them), a reward with more values between 0 and 1, or a higher ${nameSetting('rollout.temperature', run.settings.temperature)}.`,
      episodes: examples(run),
      ...(isLearned(run) && { explains: ['zero_gradients', 'no_gain'] }),
      taken: observed,
    };
  },
};

/** With less of an increase, the tasks themselves may be of two kinds. */
const leastIncrease = 0.25;

/** Whether groups became equal while success rose: then it is a sign that learning stopped, and not its reason. */
function isLearned({ figures: { equal_groups: equal, success } }: ExaminedRun): boolean {
  if (equal === undefined || success === undefined) return false;
  const increase = meanOf(between(equal, 0.5, 1).values) - meanOf(between(equal, 0, 0.15).values);
  const change = changeBetween(success, { from: between(success, 0, 0.15), to: between(success, 0.5, 1) });
  return increase >= leastIncrease && rises(change);
}

function dependsOnTask(run: ExaminedRun): Sighting | undefined {
  const found = rewardsOfTasks(run);
  if (found === undefined) return undefined;
  const { groups, equal } = found;
  return {
    summary: `The reward depends on the task and not on what the model does: in ${equal.length} of ${groups} groups (${percent(equal.length / groups)}) all episodes have the same reward, which differs from task to task.`,
    cure: 'Compute the reward from what the episode did. ajet judge --audit shows what the reward pays for.',
    episodes: episodeIds(equal.flatMap((group) => group.slice(0, 1))),
    taken: equal.length / groups,
  };
}

/** The default of rollout.num_repeat. */
const usualSize = 8;

/** Finds equal rewards that come from small groups: groups of the usual size would have at most half as many. */
function tooSmall(
  run: ExaminedRun,
  { observed, groups, rate }: { readonly observed: number; readonly groups: number; readonly rate: number },
): Sighting | undefined {
  const { groupSize = usualSize } = run.settings;
  const [chance, usual] = [1 - chanceOfMixedGroup(rate, groupSize), 1 - chanceOfMixedGroup(rate, usualSize)];
  if (groupSize >= usualSize || usual > chance / 2 || wilsonInterval(observed, groups).low <= 0.4) return undefined;
  return {
    summary: `${percent(observed)} of the ${groups} groups of the last half have equal rewards and train nothing. In groups of ${groupSize} it would be ${percent(chance)} by chance at a success of ${formatRate(rate, wilsonInterval(rate, groups))}, and ${percent(usual)} in groups of ${usualSize}.`,
    cure: `Raise ${nameSetting('rollout.num_repeat', groupSize)}; a smaller data.train_batch_size keeps the number of episodes.`,
    episodes: examples(run),
    taken: observed,
  };
}

/** An episode of a task that is always solved, and one of a task that is never solved. */
function examples(run: ExaminedRun): readonly string[] {
  const groups = groupsOf(trainingEpisodes(run, 0.5)).filter(
    (group) => new Set(group.map(({ reward }) => reward)).size === 1,
  );
  const [good, bad] = [true, false].map((wanted) => groups.find(([first]) => first?.success === wanted)?.[0]);
  return episodeIds([good, bad].filter((each) => each !== undefined));
}
