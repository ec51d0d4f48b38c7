import { formatChange } from '@agentjet/core/success';
import type { Cause } from '../cause.js';
import { groupsOf, trainingEpisodes } from '../episode-sets.js';
import type { ExaminedRun } from '../examined-run.js';
import { changeBetween } from '../figures/change.js';
import { between } from '../figures/series.js';
import { countGroups, evaluatedRates, heldOutChange, isGood, outcomeOf, trainingSuccess } from '../outcome.js';
import { figure } from '../words.js';

/** After this many passes, answers can be learned by heart, and a gap to held-out tasks is enough to show it. */
const manyPasses = 10;
const leastGap = 0.25;
/** After only this many passes, held-out success must also gain less than `mostShare` of what training gains. */
const leastPasses = 3;
const mostShare = 0.25;
/** With more contents for each id, equal contents are chance. */
const mostDifferent = 0.5;

export const tooFewTasks: Cause = {
  name: 'too_few_tasks',
  needs: ['success', 'evaluations'],
  threshold:
    'training success is above held-out success, and their 95% intervals are apart. In addition, each task (tasks that differ only in their ids are one) was trained 10 times and the gap is 0.25, or each was trained 3 times and held-out success gains under a quarter of what training success gains',
  explains: [
    'lost_variety',
    'no_gain',
    'stopped_learning',
    'no_spread',
    'hollow_reward',
    'zero_gradients',
    'always_solved',
  ],
  look(run) {
    const { success } = run.figures;
    const { trainingTasks } = run;
    const heldOut = heldOutChange(run);
    if (success === undefined || trainingTasks === undefined || heldOut === undefined || isGood(run)) return undefined;
    const trained = changeBetween(success, { from: between(success, 0, 0.1), to: between(success, 0.8, 1) });
    const [now, last] = [trainingSuccess(run, 0.8), outcomeOf(run)];
    const copies = findCopies(run);
    const passes = copies?.passes ?? countGroups(run, success) / Math.max(1, trainingTasks);
    if (trained === undefined || now === undefined || last === undefined || now.low <= last.high) return undefined;
    const lastStep = run.evaluations.at(-1)?.step;
    const isByHeart = passes >= manyPasses && now.rate - last.rate >= leastGap && trained.low > 0;
    const isWithoutGain =
      passes >= leastPasses && trained.low > 0.1 && heldOut.difference < mostShare * trained.difference;
    if (!isByHeart && !isWithoutGain) return undefined;
    const contents = copies === undefined ? '' : `the ids have ${copies.contents} different contents, and `;
    return {
      ...(isByHeart && staysFlat(run) && { asks: 'change' as const }),
      summary: `The model learns its ${trainingTasks} training tasks by heart: ${contents}it trained each ${figure(passes)} times. Success on them rose from ${figure(trained.before)} to ${figure(trained.after)}, and on held-out tasks by ${formatChange(heldOut)}.`,
      cure: 'Train on more tasks, of the same kind as the evaluation tasks; AgentJet makes some from documents or examples (task_reader.data_generation). Until then, end the run where held-out success is best (trainer_common.keep_best: success_rate).',
      episodes: (run.episodes ?? [])
        .filter(({ phase, step, success: isSolved }) => phase === 'evaluation' && step === lastStep && !isSolved)
        .map(({ id }) => id),
      taken: 1 - last.rate / now.rate,
    };
  },
};

type Copies = { readonly contents: number; readonly passes: number };

/** Counts the different contents of the training tasks. Undefined if they are not known, or if few tasks are copies. */
function findCopies(run: ExaminedRun): Copies | undefined {
  const training = trainingEpisodes(run);
  const contents = new Set(training.map(({ content }) => content)).size;
  const ids = new Set(training.map(({ task }) => task)).size;
  // One question for all tasks may mean that the agent finds the task by its id.
  if (contents < 2 || contents > mostDifferent * ids || training.some(({ content }) => content === undefined))
    return undefined;
  return { contents, passes: groupsOf(training).length / contents };
}

/** Whether the second half of the run adds under a quarter of what the first half added to held-out success. */
function staysFlat(run: ExaminedRun): boolean {
  const rates = evaluatedRates(run);
  const [first, last] = [rates[0], rates.at(-1)];
  const middle = rates.find(({ step }) => step >= run.steps / 2);
  if (first === undefined || last === undefined || middle === undefined || middle === last) return false;
  return last.rate - middle.rate <= mostShare * Math.max(0, middle.rate - first.rate);
}
