import type { ChatDelta, ChatRequest, ChatResponse, CommonConfig, Task, TokenLogprob } from '@agentjet/core';
import type { AgentIdentity } from '@agentjet/context-tracker';
import type { Episode } from '@agentjet/rollout';
import type { SentError } from './sent-error.js';

/**
 * What a run and a process of workflows tell each other. The run has the model and records every call; the process has the
 * workflow, the judge and the environment. They are structured clones, so what a workflow gets is what it would get in the run.
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
  /** The episode is not wanted any more, or has taken too long. */
  | { readonly type: 'stop'; readonly episodeId: string; readonly reason: SentError }
  /** The judge has answered another episode, and this one waits for it. */
  | { readonly type: 'judge_back'; readonly episodeId: string }
  | { readonly type: 'delta'; readonly call: number; readonly delta: ChatDelta }
  | { readonly type: 'tokens'; readonly call: number; readonly tokens: readonly TokenLogprob[] }
  | { readonly type: 'answer'; readonly call: number; readonly response: ChatResponse }
  | { readonly type: 'failure'; readonly call: number; readonly error: SentError };

export type ProcessOptions = {
  /** Of the process that runs the workflows: its tasks bring the environment, so they are opened too. */
  readonly hasReadersEnvironment: boolean;
  /** Among how many processes the sessions of the environment are divided. */
  readonly numProcesses: number;
};

export type EpisodeOrder = {
  readonly episodeId: string;
  readonly repeatIndex: number;
  readonly seed: number;
  readonly attempt: number;
  readonly timeoutMs: number;
  /** How long it may wait for a judge that cannot be reached; null: for ever; undefined: it may not. */
  readonly scorePatienceMs?: number | null;
};

export type FromProcess =
  | { readonly type: 'ready' }
  /** The process cannot run this workflow: no process can. */
  | { readonly type: 'refused'; readonly error: SentError }
  | {
      readonly type: 'call';
      readonly episodeId: string;
      readonly call: number;
      /** Which model of the episode: an agent may ask for several. */
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

/** What the process knows of a finished episode; its tokens are recorded in the run. */
export type RemoteEpisode = RemotePart<Episode>;

type RemotePart<E> = E extends Episode
  ? Omit<E, 'task' | 'samples' | 'turns' | 'stats' | 'calls' | 'ignoredParameters' | 'turnRewards' | 'seconds'>
  : never;
