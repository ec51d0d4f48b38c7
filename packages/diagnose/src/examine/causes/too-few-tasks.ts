import { formatChange } from '@agentjet/core/success';
import type { Cause } from '../cause.js';
import { changeBetween } from '../figures/change.js';
import { between } from '../figures/series.js';
import { countGroups, heldOutChange, isGood, outcomeOf, trainingSuccess } from '../outcome.js';
import { figure } from '../words.js';

/** After this many passes, answers can be learned by heart, and a gap to held-out tasks is enough to show it. */
const manyPasses = 10;
const leastGap = 0.25;
/** After only this many passes, held-out success must also gain less than `mostShare` of what training gains. */
const leastPasses = 3;
const mostShare = 0.25;

export const tooFewTasks: Cause = {
  name: 'too_few_tasks',
  needs: ['success', 'evaluations'],
  threshold:
    'training success is above held-out success, and their 95% intervals are apart. In addition, each task was trained 10 times and the gap is 0.25, or each was trained 3 times and held-out success gains under a quarter of what training success gains',
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
    const passes = countGroups(run, success) / Math.max(1, trainingTasks);
    if (trained === undefined || now === undefined || last === undefined || now.low <= last.high) return undefined;
    const lastStep = run.evaluations.at(-1)?.step;
    const isByHeart = passes >= manyPasses && now.rate - last.rate >= leastGap && trained.low > 0;
    const isWithoutGain =
      passes >= leastPasses && trained.low > 0.1 && heldOut.difference < mostShare * trained.difference;
    if (!isByHeart && !isWithoutGain) return undefined;
    return {
      summary: `The model learns its ${trainingTasks} training tasks by heart: it trained each ${figure(passes)} times. Success on them rose from ${figure(trained.before)} to ${figure(trained.after)}, and on held-out tasks by ${formatChange(heldOut)}.`,
      cure: 'Train on more tasks, of the same kind as the evaluation tasks; AgentJet makes some from documents or examples (task_reader.data_generation). Until then, end the run where held-out success is best (trainer_common.keep_best: success_rate).',
      episodes: (run.episodes ?? [])
        .filter(({ phase, step, success: isSolved }) => phase === 'evaluation' && step === lastStep && !isSolved)
        .map(({ id }) => id),
      taken: 1 - last.rate / now.rate,
    };
  },
};
