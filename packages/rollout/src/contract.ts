import type { ChatModel, Engine, Sample, Task, TurnReward, Verdict, WorkflowOutput } from '@agentjet/core';
import type {
  AgentIdentity,
  CountsByAgent,
  HistoryPolicy,
  SpecialTokensInText,
  TrackerStats,
  TurnDescription,
} from '@agentjet/context-tracker';
import type { ChatTokenizer } from '@agentjet/tokenizer';
import type { OpenSession } from './environment/environment.js';
import type { UntrainedCall } from './episode/untrained-calls.js';
import type { PaidTurn } from './episode/turn-rewards.js';
import type { SwallowedError } from './episode/swallowed-errors.js';
import type { EpisodeError } from './episode/episode-error.js';

/** Options of every adapter's `asModel`. `M` is the framework's own model type. */
export type ModelOptions<M> = {
  readonly agentName: string;
  /** `trainable_targets` selects agents by this tag. Default: the agent's name. */
  readonly targetTag?: string;
  /** The model to return, unchanged, if the target does not learn. */
  readonly debugModel?: M;
};

/** Gives models to the agents of one episode. */
export interface Tuner {
  readonly episodeId: string;
  /** Aborts when the episode times out or the run stops. */
  readonly signal: AbortSignal;
  /**
   * The number of this attempt at the episode, from 1. It is above 1 if earlier attempts were lost to an outage or an
   * expired lease. Use it to keep side effects from happening twice.
   */
  readonly attempt: number;
  isTrainable(targetTag: string): boolean;
  /**
   * Returns the tuned model if the target learns, and `debugModel` itself otherwise. Every adapter calls this method.
   * `callMethods` names the methods of the framework's model that make calls, such as `doGenerate` or
   * `chat.completions.create`: a failure of the debugModel inside one of them is attributed to its provider and not to
   * the agent. Throws ConfigError with the agent's name if the target does not learn and there is no debugModel.
   */
  selectModel<M>(options: ModelOptions<M>, toNative: (model: ChatModel) => M, callMethods?: readonly string[]): M;
  /**
   * Opens an OpenAI-compatible address for an agent in any language and closes it when the episode ends. It follows the
   * rules of `selectModel`: calls of a target that does not learn go to `debugModel`.
   */
  asOpenAIEndpoint(options: ModelOptions<ChatModel>): OpenAIEndpoint;
  /**
   * Opens a session of the run's environment for this task. The session is closed when the episode ends, even if it
   * fails. If the session's connection breaks, the attempt ends, and a new attempt gets a new session. Throws
   * ConfigError if the run has no environment.
   */
  openEnvironment(task: Task): Promise<OpenSession>;
  /** Runs `work`, such as a tool or a step of an environment, and records how long it took under `name`. */
  span<T>(name: string, work: () => T): T;
  /**
   * Rewards an agent for what it has done so far, in addition to the reward at the end of the episode. The reward
   * counts for the turns that the agent has made so far. Without `agent`, the agent whose model answered last gets the
   * reward. A reward for an agent that does not learn is ignored. Throws WorkflowError if the value is not finite or
   * the agent has no turn yet.
   */
  reward(value: number, options?: { readonly agent?: string }): void;
}

/** A record of one call of `Tuner.span`. */
export type SpanRecord = {
  readonly name: string;
  /** Milliseconds since the episode began. */
  readonly beganMs: number;
  readonly endedMs: number;
  /** Whether `work` threw. */
  readonly hasFailed: boolean;
};

/** The settings for an OpenAI-compatible client. `baseUrl` ends in `/v1`. */
export type OpenAIEndpoint = {
  readonly baseUrl: string;
  readonly apiKey: string;
  readonly model: string;
  /**
   * Opens a way to this endpoint that uses no network. `session.connect` needs it. The clock runs while a model works on
   * a request whose whole body has arrived, so that an agent cannot hold it with a request that it never completes.
   */
  readonly openRoute?: (clock: RouteClock) => EndpointRoute;
};

/** Measures the waiting for models. Several routes can share one, and overlapping requests then count once. */
export type RouteClock = {
  /** The returned function ends the request. */
  readonly begin: () => () => void;
};

/** The part of Node's duplex stream that a route needs. Agents may have no types of Node, so this package names none. */
export interface RouteStream {
  destroy(): unknown;
  once(event: 'close', listener: () => void): unknown;
}

/** A way to an endpoint for the agents of one episode, over streams. */
export interface EndpointRoute {
  /** Serves HTTP to the client at the other end of a duplex stream. Only keys of this episode are valid. */
  accept(stream: RouteStream): void;
  /** Breaks all connections. */
  close(): void;
}

/** Serves ChatModels over HTTP. It must already be listening when a tuner gets it. */
export interface EndpointHost {
  /** Gives `model` an address and a key, both valid until `signal` aborts. Later calls get status 410. */
  open(registration: EndpointRegistration): OpenAIEndpoint;
}

/** One agent of one episode, and the model that answers it. */
export type EndpointRegistration = {
  readonly episodeId: string;
  readonly agentName: string;
  readonly model: ChatModel;
  readonly signal: AbortSignal;
  /** Called with the error of a request that was refused before the model was asked. */
  readonly onRefused?: (error: unknown) => void;
};

/**
 * The source of the tuned model's answers. With `engine`, an engine takes and returns tokens, which are recorded for
 * training. With `chat`, answers come from a model behind an API, or from one such model for each agent. Nothing is
 * recorded then, so nothing can be trained.
 */
export type Policy =
  | {
      readonly kind: 'engine';
      readonly engine: Engine;
      readonly chatTokenizer: ChatTokenizer;
      /**
       * Returns a different chat template over the same vocabulary for one agent, such as one without thinking.
       * Undefined means `chatTokenizer`.
       */
      readonly chat?: ((agent: AgentIdentity) => ChatTokenizer | undefined) | undefined;
      readonly historyPolicy?: HistoryPolicy;
      readonly specialTokensInText?: SpecialTokensInText;
      /** Patterns such as `*haiku*`. Calls that ask for a model with a matching name are answered but not trained. */
      readonly untrainedModels?: readonly string[];
      /** The name of the context limit in error messages. Default: `rollout.max_model_len`. */
      readonly contextSetting?: string;
    }
  | { readonly kind: 'chat'; readonly model: ChatModel | ((agent: AgentIdentity) => ChatModel) };

/** Sampling options for requests that do not set them, from the `rollout` section of the configuration. */
export type SamplingDefaults = {
  /** 0 means greedy. */
  readonly temperature: number;
  /** In (0, 1]. */
  readonly topP: number;
  /** 0 and -1 keep all tokens. */
  readonly topK: number;
  /** The maximum number of generated tokens per call. */
  readonly maxTokens: number;
};

/** The user's agent program. */
export interface WorkflowLike {
  execute(task: Task, tuner: Tuner): Promise<WorkflowOutput>;
}

/** The requests of an episode that its judge did not answer because of an outage, and the time that it waited. */
export type JudgeOutage = { readonly requests: number; readonly seconds: number };

/** One finished run of a workflow on a task. A failed episode keeps its error and is data. */
export type Episode = {
  readonly episodeId: string;
  readonly task: Task;
  /** From 0 to numRepeat - 1. */
  readonly repeatIndex: number;
  readonly seed: number;
  readonly samples: readonly Sample[];
  /** The model calls that the samples come from, for inspection. */
  readonly turns: readonly TurnDescription[];
  readonly stats: TrackerStats;
  readonly calls: CallCounts;
  /**
   * For each agent and each parameter, the number of requests with this parameter. The parameter was accepted but had
   * no effect.
   */
  readonly ignoredParameters: CountsByAgent<string>;
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly logMetrics: Readonly<Record<string, number>>;
  readonly seconds: number;
  /** When the episode began, in milliseconds since 1970. Absent if it is not known. */
  readonly beganAt?: number;
  /** What the last answer of a model that learns says: its text, or its tool calls. Absent if there was none. */
  readonly answer?: string;
  /**
   * The seconds of the episode that the judge took. They include the time that a group's judge waits for the other
   * episodes. Absent if no judge was asked here.
   */
  readonly secondsJudging?: number;
  /** How long the episode waited for a judge that could not be reached. Absent if its judge answered at once. */
  readonly judgeOutage?: JudgeOutage;
  /** See `Tuner.attempt`. Absent means 1. */
  readonly attempt?: number;
  /** Spans in the order in which they ended. Absent if there were none. */
  readonly spans?: readonly SpanRecord[];
  /** Model calls that failed without failing the episode. Absent if there were none. */
  readonly swallowedErrors?: readonly SwallowedError[];
  /** Calls of agents that do not learn, in the order in which they ended. Absent if there were none. */
  readonly untrainedCalls?: readonly UntrainedCall[];
  /** Rewards from `Tuner.reward`. Absent if there were none. */
  readonly turnRewards?: readonly TurnReward[];
  /** The same rewards by the ids of answers, for an episode whose turns are recorded elsewhere. */
  readonly paidTurns?: readonly PaidTurn[];
} & (
  | ({ readonly status: 'completed' } & Verdict)
  | {
      readonly status: 'failed';
      readonly error: EpisodeError;
    }
);

/** The outcomes of the model calls of one episode. One call may count in several fields. */
export type CallCounts = {
  /** Calls that got an answer. */
  readonly answered: number;
  readonly aborted: number;
  /** Calls that were refused or that failed, including context overflow. */
  readonly failed: number;
  /** Answered calls that were marked as not trained. They give no samples. */
  readonly untrained: number;
  /** Requests that repeated an earlier requestId and got the earlier answer. */
  readonly repeated: number;
  /** Answers that were cut off by a token limit. */
  readonly truncated: number;
  /** Answers to requests that offered tools. */
  readonly withTools: number;
  /** Answers that call a tool. */
  readonly callingTools: number;
  /** Tool-call blocks that could not be parsed as calls. */
  readonly malformedToolCalls: number;
  /** Tool calls whose arguments are not a JSON object or do not match the schema of their tool. */
  readonly malformedArguments: number;
  /** Tool calls that name a tool which their request does not have. */
  readonly unknownTools: number;
  /** Results of tools that the agent sent, and those of them that report an error. Absent if there were none. */
  readonly toolResults?: number;
  readonly toolErrors?: number;
  /** The beginning of the first of these errors, at most 200 characters. */
  readonly firstToolError?: string;
  /** Answers that are not JSON or do not match the schema, although responseFormat asked for it. */
  readonly malformedJson: number;
};
