import { formatChange } from '@agentjet/core/success';
import type { Cause } from '../cause.js';
import { changeBetween } from '../figures/change.js';
import { between } from '../figures/series.js';
import { countGroups, heldOutChange, isGood } from '../outcome.js';
import { figure } from '../words.js';

/** Each task was trained this often. Fewer passes rarely suffice to learn answers by heart. */
const leastPasses = 3;
/** A held-out gain under this share of the gain in training. */
const leastShare = 0.25;

export const tooFewTasks: Cause = {
  name: 'too_few_tasks',
  needs: ['success', 'evaluations'],
  threshold:
    'each task was trained 3 times or more, and held-out success gains under a quarter of what training gains, at the upper end of its 95% interval',
  explains: ['no_gain', 'stopped_learning', 'no_spread', 'hollow_reward', 'zero_gradients', 'always_solved'],
  look(run) {
    const { success } = run.figures;
    const { trainingTasks } = run;
    const heldOut = heldOutChange(run);
    if (success === undefined || trainingTasks === undefined || heldOut === undefined || isGood(run)) return undefined;
    const trained = changeBetween(success, { from: between(success, 0, 0.2), to: between(success, 0.8, 1) });
    const passes = countGroups(run, success) / Math.max(1, trainingTasks);
    if (trained === undefined || trained.low <= 0.1 || passes < leastPasses) return undefined;
    if (heldOut.difference >= leastShare * trained.difference || heldOut.high >= trained.difference) return undefined;
    return {
      summary: `The model learns its ${trainingTasks} training tasks by heart: it trained each ${figure(passes)} times. Success on them rose from ${figure(trained.before)} to ${figure(trained.after)}, and on held-out tasks by ${formatChange(heldOut)}.`,
      cure: 'Train on more tasks, of the same kind as the evaluation tasks; ajet can make some from documents or examples (task_reader.data_generation). Until then, end the run where held-out success is best (trainer_common.keep_best: success_rate).',
      taken: 1 - Math.max(0, heldOut.difference) / trained.difference,
    };
  },
};
