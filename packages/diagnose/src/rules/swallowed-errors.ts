import type { Rule } from '../rule.js';

/**
 * Finds model calls that failed while the episode continued. The framework passed the error to the agent as a tool
 * result, so the run trains the agent's reaction to the error.
 */
export const swallowedErrors: Rule = {
  name: 'swallowed_errors',
  find({ episodes }) {
    const affected = episodes.filter(({ swallowed_errors: calls = [] }) => calls.length > 0);
    const [first] = affected.flatMap(({ episode_id: id, swallowed_errors: calls = [] }) =>
      calls.map((call) => ({ ...call, id })),
    );
    if (first === undefined) return undefined;
    return {
      message:
        `In ${affected.length} of ${episodes.length} episodes a model call failed and the episode continued, as if a tool had failed. ` +
        `The first failed call is by agent "${first.agent_name}" in episode ${first.id}: ${withStop(first.message)} ` +
        'Repair the call, or ignore this if the agent handles the error. The metric swallowed_errors counts such calls, and `--backbone=debug` shows them.',
    };
  },
};

const withStop = (message: string): string => (/[.!?]$/.test(message) ? message : `${message}.`);
