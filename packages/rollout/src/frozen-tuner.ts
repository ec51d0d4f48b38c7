import { ConfigError, deriveSeed, type ChatModel } from '@agentjet/core';
import type { AgentIdentity } from '@agentjet/context-tracker';
import type { Policy, SamplingDefaults, Tuner } from './contract.js';
import { openRecord } from './episode/episode-record.js';
import { recordCall } from './episode/untrained-calls.js';
import { createTuner } from './tuner.js';

export type FrozenTunerOptions = {
  readonly policy: Policy;
  readonly sampling: SamplingDefaults;
  readonly seed: number;
};

/**
 * Creates a second tuner for an episode. Its models answer with the same weights, but their answers are never trained.
 * They can be called until the episode ends. The same seed gives the same answers in the same episode.
 */
export function createFrozenTuner(tuner: Tuner, { policy, sampling, seed }: FrozenTunerOptions): Tuner {
  const { episodeId, signal, attempt } = tuner;
  const { createModel: createFrozen } = openRecord(
    { policy, sampling },
    { episodeId, seed: deriveSeed(seed, episodeId) },
    { signal },
  );
  const createModel = (agent: AgentIdentity): ChatModel => {
    const model = createFrozen(agent);
    const { agentName } = agent;
    const generate: ChatModel['generate'] = (request, callOptions) =>
      recordCall(model, [request], () => model.generate(request, callOptions), agentName) as ReturnType<
        ChatModel['generate']
      >;
    return { ...model, generate };
  };
  return {
    ...createTuner({ episodeId, signal, attempt, createModel, endpointHost: { open: refuseEndpoint } }),
    isTrainable: () => false,
    openEnvironment: (task) => tuner.openEnvironment(task),
    span: (name, work) => tuner.span(name, work),
    reward: () => undefined, // a model that does not learn gets no rewards
  };
}

function refuseEndpoint(): never {
  throw new ConfigError(
    'no_endpoint',
    "A frozen model has no address. Ask the episode's tuner for one: tuner.asOpenAIEndpoint({ agentName, targetTag, debugModel }), with the frozen model as debugModel.",
  );
}
