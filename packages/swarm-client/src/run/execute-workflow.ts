import type { AgentIdentity } from '@agentjet/context-tracker';
import { ConfigError, type ChatModel, type Task } from '@agentjet/core';
import {
  runEpisode,
  sampledElsewhere,
  type Episode,
  type EndpointHost,
  type EnvironmentHost,
  type Judge,
  type WorkflowSource,
  type WrapModel,
} from '@agentjet/rollout';
import type { ClaimedEpisode, EndRequest } from '@agentjet/swarm-wire';
import type { ClientHost } from '../host.js';
import { createRemoteModel, type RemoteModelOptions } from '../model/remote-model.js';
import { agentAddress } from './agent-address.js';
import type { JudgeWatch } from './judge-watch.js';
import { toEnd } from './to-end.js';

/** Options that all episodes of a client share. */
export type ExecuteOptions = {
  readonly host: ClientHost;
  readonly fetch: RemoteModelOptions['fetch'];
  readonly url: string;
  readonly client: string;
  readonly workflow: WorkflowSource;
  readonly judge?: Judge | undefined;
  readonly judgeWatch: JudgeWatch;
  /** The targets that learn, if the server does not set them. Undefined leaves it to the workflow's field. */
  readonly trainableTargets?: readonly string[] | null | undefined;
  readonly timeoutMs: number;
  /** How long an episode waits for an unreachable judge, in ms. Null means without limit. */
  readonly scorePatienceMs: number | null;
  /** Serves agents that need an address for their model. */
  readonly endpointHost: EndpointHost;
  /** The environment for the workflow's `tuner.openEnvironment`. */
  readonly environment?: EnvironmentHost | undefined;
  readonly wrapModel?: WrapModel | undefined;
  readonly onNotice: (message: string) => void;
  /** Called with each episode that has ended here. */
  readonly onEpisode?: ((episode: Episode, claimed: ClaimedEpisode) => void) | undefined;
};

/**
 * Runs a claimed episode like any other, with models that answer from the server. The server records what the tracker
 * would record.
 * @throws ConfigError if an agent's target learns here and not on the server, because that would repeat in every
 * episode
 */
export async function executeWorkflow(
  options: ExecuteOptions,
  { episode, task, signal }: { readonly episode: ClaimedEpisode; readonly task: Task; readonly signal: AbortSignal },
): Promise<EndRequest> {
  const { client, onNotice, workflow, judge, judgeWatch, timeoutMs, endpointHost, environment, wrapModel } = options;
  const gone = new AbortController();
  const turnIds = new Map<string, string[]>();
  let awayMs = 0;
  const model = (agent: AgentIdentity): ChatModel =>
    createRemoteModel({
      ...options,
      address: agentAddress({ url: options.url, baseUrl: episode.base_url }, agent),
      key: episode.key,
      name: episode.model,
      onAway: (message, waitMs) => {
        awayMs += waitMs;
        onNotice(`The server is away: ${message}`);
      },
      onTurn: (callId) => {
        const ids = turnIds.get(agent.agentName) ?? [];
        if (!ids.includes(callId)) turnIds.set(agent.agentName, [...ids, callId]);
      },
      onGone: (message) => gone.abort(new Error(message)),
      onNotTrained: (message) => gone.abort(new ConfigError('target_not_trained', message)),
    });
  const finished = await runEpisode(
    task,
    {
      workflow,
      judge,
      policy: { kind: 'chat', model },
      sampling: sampledElsewhere,
      timeoutMs,
      timeoutName: 'timeoutSeconds of the client (--timeout of `ajet swarm run`)',
      trainableTargets: episode.trainable_targets ?? options.trainableTargets,
      policyNames: Object.keys(episode.policies ?? {}),
      endpointHost,
      environment,
      wrapModel,
      keeper: {
        scorePatienceMs: options.scorePatienceMs,
        judgeIsAway: (_id, message) => judgeWatch.away(message),
        onJudgeBack: judgeWatch.onBack,
      },
    },
    {
      episodeId: episode.episode_id,
      repeatIndex: episode.place,
      seed: episode.seed,
      attempt: episode.attempt + 1,
      signal: AbortSignal.any([signal, gone.signal]),
    },
  );
  if (finished.status === 'completed' && finished.secondsJudging !== undefined) judgeWatch.answered();
  if (gone.signal.reason instanceof ConfigError) throw gone.signal.reason;
  if (!signal.aborted) options.onEpisode?.(finished, episode);
  return toEnd(finished, { client, awayMs, turnIds });
}
