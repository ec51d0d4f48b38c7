import type { ChatDelta, ChatRequest, ChatResponse, CommonConfig, Task, TokenLogprob } from '@agentjet/core';
import type { AgentIdentity } from '@agentjet/context-tracker';
import type { RemoteEpisode } from './remote-episode.js';
import type { SentError } from './sent-error.js';

/** The functions of a run that its workflow processes call. The run has the model and records every call. */
export type RunFunctions = {
  readonly generate: (asked: AskedCall) => Promise<ChatResponse>;
  readonly countPromptTokens: (asked: AskedModel) => Promise<number>;
  readonly abort: (call: number) => void;
  readonly judgeAway: (episodeId: string, message: string) => void;
};

/**
 * The functions of a workflow process that its run calls. The process has the workflow, the judge and the environment.
 */
export type ProcessFunctions = {
  /** Rejects if no process can run this workflow. */
  readonly open: (config: CommonConfig, options: ProcessOptions) => Promise<void>;
  /** Rejects with ConfigError for an error that every episode would have. */
  readonly run: (task: Task, order: EpisodeOrder) => Promise<RemoteEpisode>;
  /** Ends an episode that was cancelled or has taken too long. */
  readonly stop: (episodeId: string, reason: SentError) => void;
  /** Lets an episode that waits for the judge ask again, because the judge has answered another episode. */
  readonly judgeBack: (episodeId: string) => void;
  readonly stream: (call: number, piece: Piece) => void;
  /** Ends the process, because the run has ended. */
  readonly close: () => Promise<void>;
};

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

/** A piece of an answer that is streamed. */
export type Piece = { readonly delta: ChatDelta } | { readonly tokens: readonly TokenLogprob[] };

/** A model of an episode, and a request to it. */
export type AskedModel = {
  readonly episodeId: string;
  /** The number of the model in the episode, because an agent may ask for several models. */
  readonly model: number;
  readonly agent: AgentIdentity;
  readonly request: ChatRequest;
};

export type AskedCall = AskedModel & {
  readonly call: number;
  readonly isStreamed: boolean;
  readonly wantsTokens: boolean;
};
