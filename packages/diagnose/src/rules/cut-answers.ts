import type { Rule } from '../rule.js';

/** The smallest share that is reported. A few answers are cut in most runs, and a smaller share does little harm. */
const leastShare = 0.05;
/** The rule needs at least this many answers. With fewer answers, a share of 5% cannot be measured. */
const leastAnswers = 20;

const sum = (values: readonly (number | undefined)[]): number =>
  values.reduce<number>((total, value = 0) => total + value, 0);

/**
 * Finds answers that end at the token limit. The agent gets an unfinished answer, and the policy gets a reward for it.
 */
export const cutAnswers: Rule = {
  name: 'cut_answers',
  find({ steps, config }) {
    const answers = sum(steps.map((step) => step['answers']));
    const cut = sum(steps.map((step) => step['answers_cut']));
    if (answers < leastAnswers || cut / answers < leastShare) return undefined;
    const { maxResponseLengthInOneTurn: limit, maxModelLen } = config.rollout;
    const where = steps.length === 1 ? `of step ${steps[0]?.step}` : `of the last ${steps.length} steps`;
    return {
      message:
        `${cut} of ${answers} answers ${where} (${Math.round((100 * cut) / answers)}%) were cut at a token limit, so the agent got them unfinished. ` +
        `Raise rollout.max_response_length_in_one_turn (${limit}), or rollout.max_model_len (${maxModelLen}) if long prompts leave no room, or the agent's own max_tokens; or ask for shorter answers. The metric answers_cut counts them.`,
    };
  },
};
