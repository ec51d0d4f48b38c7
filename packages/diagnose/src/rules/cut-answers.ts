import { leastAnswers, leastCut } from '../limits.js';
import type { Rule } from '../rule.js';
import { sumOf } from '../sums.js';
import { cureOfCutAnswers } from '../cures.js';

/**
 * Finds answers that end at the token limit. The agent gets an unfinished answer, and the policy gets a reward for it.
 */
export const cutAnswers: Rule = {
  name: 'cut_answers',
  find({ steps, config }) {
    const answers = sumOf(steps, 'answers');
    const cut = sumOf(steps, 'answers_cut');
    if (answers < leastAnswers || cut / answers < leastCut) return undefined;
    const { maxResponseLengthInOneTurn, maxModelLen } = config.rollout;
    const where = steps.length === 1 ? `of step ${steps[0]?.step}` : `of the last ${steps.length} steps`;
    return {
      message:
        `${cut} of ${answers} answers ${where} (${Math.round((100 * cut) / answers)}%) were cut at a token limit, so the agent got them unfinished. ` +
        `${cureOfCutAnswers({ answerLimit: maxResponseLengthInOneTurn, contextLimit: maxModelLen })} The metric answers_cut counts them.`,
    };
  },
};
