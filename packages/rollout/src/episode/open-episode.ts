import type { ChatModel } from '@agentjet/core';
import type { AgentIdentity } from '@agentjet/context-tracker';
import type { EndpointHost, Policy, SamplingDefaults, Tuner } from '../contract.js';
import { createTuner } from '../tuner.js';
import { openLife } from './episode-life.js';
import { openRecord, type Recorded } from './episode-record.js';

/**
 * An episode without a workflow around it: the models of its agents, and the record of what they said. `runEpisode`
 * runs a workflow in one; a server that lends its model to programs elsewhere opens one for each of theirs.
 */
export type OpenEpisode = {
  readonly episodeId: string;
  /** Aborts when the episode ends; the reason says why. */
  readonly signal: AbortSignal;
  /** The tuned model of one agent. Each call makes another model; all of them write into one record. */
  readonly createModel: (agent: AgentIdentity) => ChatModel;
  /** Undefined targets: every target learns. Throws ConfigError for an empty list. */
  readonly createTuner: (trainableTargets?: readonly string[]) => Tuner;
  /** What has been recorded so far; the episode goes on. Samples exist only after `finish`. */
  readonly record: () => Omit<Recorded, 'samples'>;
  /** Ends the episode with an error: its models reject from now on, and running calls are aborted. */
  readonly fail: (error: unknown) => void;
  /** Ends the episode and returns what it has recorded. A second call returns the same. */
  readonly finish: () => Recorded;
};

export type OpenEpisodeOptions = {
  readonly policy: Policy;
  readonly sampling: SamplingDefaults;
  /** Without it, the episode lasts until `finish` or `fail`. */
  readonly timeoutMs?: number;
  readonly endpointHost?: EndpointHost | undefined;
  /** Puts something around the tuned models: a limit, a recorder. */
  readonly wrapModel?: WrapModel | undefined;
};

/** Called once for each episode, so that a wrapper may keep a state per episode. */
export type WrapModel = (episode: { readonly episodeId: string; readonly signal: AbortSignal }) => WrapAgentModel;
/** Called once for each tuned model. `model` is what the agent would have got. */
export type WrapAgentModel = (model: ChatModel, agent: AgentIdentity) => ChatModel;

export type OpenEpisodeIdentity = {
  readonly episodeId: string;
  readonly seed: number;
  /** Aborting it ends the episode. */
  readonly signal?: AbortSignal | undefined;
};

/** Opens an episode. End it with `finish`, or its timer and its listener on `signal` stay. */
export function openEpisode(options: OpenEpisodeOptions, identity: OpenEpisodeIdentity): OpenEpisode {
  const { episodeId } = identity;
  const life = openLife(options, identity);
  const { signal } = life;
  const { createModel: createTuned, read, finish } = openRecord(options, identity, signal);
  const wrap = options.wrapModel?.({ episodeId, signal });
  const createModel = (agent: AgentIdentity): ChatModel => {
    const model = createTuned(agent);
    return wrap === undefined ? model : wrap(model, agent);
  };
  let finished: Recorded | undefined;
  return {
    episodeId,
    signal,
    createModel,
    createTuner: (trainableTargets) =>
      createTuner({ episodeId, signal, trainableTargets, createModel, endpointHost: options.endpointHost }),
    record: () => finished ?? read(),
    fail: life.fail,
    finish: () => {
      life.close();
      return (finished ??= finish());
    },
  };
}
