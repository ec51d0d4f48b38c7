import type { ChatModel } from '@agentjet/core';
import {
  createWorkflow,
  type EndpointHost,
  type ModelOptions,
  type Tuner,
  type WorkflowSource,
} from '@agentjet/rollout';

/** Puts something around each tuned model of an episode. Called once per model; `model` is what the agent would have got. */
export type WrapModel = (
  model: ChatModel,
  agent: { readonly agentName: string; readonly episodeId: string },
) => ChatModel;

function wrapTuner(tuner: Tuner, wrapModel: WrapModel, host: EndpointHost | undefined): Tuner {
  const wrap = (model: ChatModel, agentName: string): ChatModel =>
    wrapModel(model, { agentName, episodeId: tuner.episodeId });
  const selectModel = <M>(options: ModelOptions<M>, toNative: (model: ChatModel) => M): M =>
    tuner.selectModel(options, (model) => toNative(wrap(model, options.agentName)));
  return {
    episodeId: tuner.episodeId,
    signal: tuner.signal,
    isTrainable: (targetTag) => tuner.isTrainable(targetTag),
    selectModel,
    asOpenAIEndpoint: (options) => {
      if (host === undefined) return tuner.asOpenAIEndpoint(options);
      const model = selectModel(options, (tuned) => tuned);
      return host.open({ episodeId: tuner.episodeId, agentName: options.agentName, model, signal: tuner.signal });
    },
  };
}

/** The same workflow, with every tuned model it asks for wrapped. */
export function wrapWorkflow(
  source: WorkflowSource,
  options: { readonly wrapModels: () => WrapModel; readonly endpointHost: EndpointHost | undefined },
): WorkflowSource {
  return class WrappedWorkflow {
    readonly #inner = createWorkflow(source);
    readonly trainableTargets = this.#inner.trainableTargets;

    execute(...[task, tuner]: Parameters<ReturnType<typeof createWorkflow>['execute']>) {
      return this.#inner.execute(task, wrapTuner(tuner, options.wrapModels(), options.endpointHost));
    }
  };
}
