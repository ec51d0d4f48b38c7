import type { ChatDelta, ChatRequest, ChatResponse, CommonConfig, Task, TokenLogprob } from '@agentjet/core';
import type { AgentIdentity } from '@agentjet/context-tracker';
import type { Episode } from '@agentjet/rollout';
import type { SentError } from './sent-error.js';

/**
 * The messages between a run and a process that runs workflows. The run has the model and records every call. The
 * process has the workflow, the judge and the environment. Messages are structured clones, so a workflow gets the same
 * values as in the run.
 */

export type ToProcess =
  /** The run has ended. */
  | { readonly type: 'close' }
  | { readonly type: 'open'; readonly config: CommonConfig; readonly options: ProcessOptions }
  | {
      readonly type: 'run';
      readonly task: Task;
      readonly episode: EpisodeOrder;
    }
  /** The episode was cancelled, or has taken too long. */
  | { readonly type: 'stop'; readonly episodeId: string; readonly reason: SentError }
  /** The judge has answered another episode, so this episode, which waits for the judge, may ask again. */
  | { readonly type: 'judge_back'; readonly episodeId: string }
  | { readonly type: 'delta'; readonly call: number; readonly delta: ChatDelta }
  | { readonly type: 'tokens'; readonly call: number; readonly tokens: readonly TokenLogprob[] }
  | { readonly type: 'answer'; readonly call: number; readonly response: ChatResponse }
  | { readonly type: 'failure'; readonly call: number; readonly error: SentError };

export type ProcessOptions = {
  /** Whether the task reader provides the environment. If it does, the process also opens the task reader. */
  readonly hasReadersEnvironment: boolean;
  /** The number of processes that share the sessions of the environment. */
  readonly numProcesses: number;
};

export type EpisodeOrder = {
  readonly episodeId: string;
  readonly repeatIndex: number;
  readonly seed: number;
  readonly attempt: number;
  readonly timeoutMs: number;
  /**
   * How long the episode may wait for a judge that cannot be reached. Null means without limit. Undefined means that it
   * may not wait.
   */
  readonly scorePatienceMs?: number | null;
};

export type FromProcess =
  | { readonly type: 'ready' }
  /** No process can run this workflow. */
  | { readonly type: 'refused'; readonly error: SentError }
  | {
      readonly type: 'call';
      readonly episodeId: string;
      readonly call: number;
      /** The number of the model in the episode, because an agent may ask for several models. */
      readonly model: number;
      readonly agent: AgentIdentity;
      readonly request: ChatRequest;
      readonly isStreamed: boolean;
      readonly wantsTokens: boolean;
    }
  | { readonly type: 'abort'; readonly call: number }
  | { readonly type: 'judge_away'; readonly episodeId: string; readonly message: string }
  | { readonly type: 'done'; readonly episodeId: string; readonly episode: RemoteEpisode }
  | { readonly type: 'misconfigured'; readonly episodeId: string; readonly error: SentError };

/** The part of a finished episode that the process knows. Its tokens are recorded in the run. */
export type RemoteEpisode = RemotePart<Episode>;

type RemotePart<E> = E extends Episode
  ? Omit<E, 'task' | 'samples' | 'turns' | 'stats' | 'calls' | 'ignoredParameters' | 'turnRewards' | 'seconds'>
  : never;
