import { WorkflowError, type CommonConfig } from '@agentjet/core';
import type { WrapAgentModel, WrapModel } from './episode/open-episode.js';

/** Returns a wrapper with the limit of the configuration, or undefined if there is no limit. */
export function wrapWithCallLimit({ rollout }: CommonConfig): WrapModel | undefined {
  const { maxSteps } = rollout.multiTurn;
  return maxSteps === null ? undefined : limitCalls(maxSteps);
}

/**
 * Implements `rollout.multi_turn.max_steps`: after the first `maxSteps` model calls of an episode, counted over all its
 * agents, calls fail.
 */
export function limitCalls(maxSteps: number): WrapModel {
  return () => createCallLimit(maxSteps);
}

/** Creates the counter of one episode. */
function createCallLimit(maxSteps: number): WrapAgentModel {
  let calls = 0;
  return (model, { agentName }) => ({
    ...model,
    generate: (request, options) => {
      if (++calls > maxSteps) {
        const message = `Agent "${agentName}" makes model call ${calls} of its episode, but rollout.multi_turn.max_steps is ${maxSteps}. End the episode sooner, or raise it.`;
        return Promise.reject(new WorkflowError('too_many_calls', message));
      }
      return model.generate(request, options);
    },
  });
}
