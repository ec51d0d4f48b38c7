import { WorkflowError } from '@agentjet/core';
import type { EndpointHost, WorkflowSource } from '@agentjet/rollout';
import { wrapWorkflow, type WrapModel } from './wrap-workflow.js';

/** A counter of one episode, over all its agents. */
function createCallLimit(maxSteps: number): WrapModel {
  let calls = 0;
  return (model, { agentName }) => ({
    name: model.name,
    generate: (request, options) => {
      if (++calls > maxSteps) {
        const message = `Agent "${agentName}" makes model call ${calls} of its episode, but rollout.multi_turn.max_steps is ${maxSteps}. End the episode sooner, or raise it.`;
        return Promise.reject(new WorkflowError('too_many_calls', message));
      }
      return model.generate(request, options);
    },
  });
}

/** `rollout.multi_turn.max_steps`: a workflow whose further model calls fail. */
export function limitCalls(
  workflow: WorkflowSource,
  maxSteps: number | null,
  endpointHost: EndpointHost | undefined,
): WorkflowSource {
  if (maxSteps === null) return workflow;
  return wrapWorkflow(workflow, { wrapModels: () => createCallLimit(maxSteps), endpointHost });
}
