import { randomUUID } from 'node:crypto';
import {
  ConfigError,
  deriveSeed,
  isCountingChatModel,
  type ChatModel,
  type ChatRequest,
  type CountingChatModel,
  type LimitedChatModel,
} from '@agentjet/core';
import type { AgentIdentity } from '@agentjet/context-tracker';
import type { Policy, SamplingDefaults, Tuner } from './contract.js';
import { openRecord } from './episode/episode-record.js';
import { createTuner } from './tuner.js';

/**
 * A tuner without an episode, for a model that is already trained. Calls are independent of each other and are not
 * recorded, so the model can answer any number of calls.
 */

export type UntrackedTunerOptions = {
  readonly policy: Policy;
  readonly sampling: SamplingDefaults;
  /** The seed of each call is derived from this seed, the agent's name and the number of the call. */
  readonly seed: number;
  /** After it aborts, calls reject with EngineError `closed`. */
  readonly signal: AbortSignal;
  /** Agents of other targets get their debugModel. Undefined means that every agent gets the trained model. */
  readonly trainableTargets?: readonly string[] | undefined;
};

export function createUntrackedTuner(options: UntrackedTunerOptions): Tuner {
  const { signal, trainableTargets } = options;
  const episodeId = `untracked-${randomUUID()}`;
  const numCalls = new Map<string, number>();
  const createModel = (agent: AgentIdentity): CountingChatModel => {
    const openCall = (): ChatModel => {
      const number = numCalls.get(agent.agentName) ?? 0;
      numCalls.set(agent.agentName, number + 1);
      const identity = {
        // The ids of answers and tool calls are derived from this id, so each call needs its own.
        episodeId: `${episodeId}-${agent.agentName}-${number}`,
        seed: deriveSeed(options.seed, agent.agentName, number),
      };
      return openRecord(options, identity, { signal }).createModel(agent);
    };
    return { ...toUntracked(openCall, `agentjet/${agent.targetTag}`), ...toLimits(options) };
  };
  const endpointHost = { open: refuseEndpoint };
  return {
    ...createTuner({ episodeId, signal, createModel, trainableTargets, endpointHost }),
    reward: () => undefined, // there is no training that a reward could count for
  };
}

function toLimits({ policy, sampling }: UntrackedTunerOptions): Partial<LimitedChatModel> {
  return policy.kind === 'engine'
    ? { limits: { contextLength: policy.engine.contextLength, maxTokens: sampling.maxTokens } }
    : {};
}

function toUntracked(openCall: () => ChatModel, name: string): CountingChatModel {
  const unmarked = (request: ChatRequest): ChatRequest => ({ ...request, isTrained: false });
  return {
    name,
    generate: (request, options) => openCall().generate(unmarked(request), options),
    countPromptTokens: async (request) => {
      const model = openCall();
      if (!isCountingChatModel(model)) throw new Error(`The model ${name} cannot count tokens.`);
      return model.countPromptTokens(request);
    },
  };
}

function refuseEndpoint(): never {
  throw new ConfigError(
    'no_endpoint',
    'This tuner does not belong to an episode, so it has no address. Start a server of the model with `ajet serve <run or checkpoint>` and use its address.',
  );
}
