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
  /** What `trainable_targets` selects by; the agent's name where it is left out. */
  readonly targetTag?: string;
  /** Used, as it is, for a target that does not learn. */
  readonly debugModel?: M;
};

/** Handed to one episode; gives out models. */
export interface Tuner {
  readonly episodeId: string;
  /** Aborts when the episode times out or the run stops. */
  readonly signal: AbortSignal;
  /**
   * 1, or more if earlier attempts at this very episode were lost to the world (an outage, a lease that ran out). Use it
   * to keep side effects from happening twice.
   */
  readonly attempt: number;
  isTrainable(targetTag: string): boolean;
  /**
   * The door behind every adapter: the tuned model for a target that learns, else `debugModel` itself.
   * Throws ConfigError naming the agent when the target does not learn and there is no debugModel. `callMethods`: the methods of the
   * framework's model that make calls, such as `doGenerate` or `chat.completions.create`; a call of the debugModel that fails there
   * is known to be its provider's failure, not the agent's.
   */
  selectModel<M>(options: ModelOptions<M>, toNative: (model: ChatModel) => M, callMethods?: readonly string[]): M;
  /**
   * An OpenAI-compatible address for an agent in any language, closed when the episode ends. The same door as
   * `selectModel`: calls of a target that does not learn go to `debugModel`.
   */
  asOpenAIEndpoint(options: ModelOptions<ChatModel>): OpenAIEndpoint;
  /**
   * A session of the run's environment for this task. It is closed when the episode ends, however it ends. A session whose
   * connection breaks ends the attempt, which is made again in a new session. Throws ConfigError if the run has no environment.
   */
  openEnvironment(task: Task): Promise<OpenSession>;
  /** Runs `work`, such as a tool or a step of an environment, and records its time under `name`. */
  span<T>(name: string, work: () => T): T;
  /**
   * Pays an agent for what it has done so far, in addition to what the episode pays at its end. It counts for the turns
   * that the agent has made by now. Without `agent`: the agent whose model answered last. Ignored for an agent that does
   * not learn. Throws WorkflowError for a value that is not finite, and for an agent without a turn.
   */
  reward(value: number, options?: { readonly agent?: string }): void;
}

/** What `Tuner.span` recorded. */
export type SpanRecord = {
  readonly name: string;
  /** In milliseconds since the episode began. */
  readonly beganMs: number;
  readonly endedMs: number;
  /** Whether it threw. */
  readonly hasFailed: boolean;
};

/** What an OpenAI-compatible client is configured with. `baseUrl` ends in `/v1`. */
export type OpenAIEndpoint = { readonly baseUrl: string; readonly apiKey: string; readonly model: string };

/** Serves ChatModels over HTTP. It is listening already when it is handed to a tuner. */
export interface EndpointHost {
  /** Gives `model` an address and a key of its own, valid until `signal` aborts; later calls get status 410. */
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
 * Where the answers of the tuned model come from. `engine`: token in, token out, recorded for training.
 * `chat`: a model behind an API, or one for each agent; nothing is recorded here, so nothing can be trained from here.
 */
export type Policy =
  | {
      readonly kind: 'engine';
      readonly engine: Engine;
      readonly chatTokenizer: ChatTokenizer;
      /**
       * The chat template of one agent (one that does not think, say) over the same vocabulary; undefined:
       * `chatTokenizer`.
       */
      readonly chat?: ((agent: AgentIdentity) => ChatTokenizer | undefined) | undefined;
      readonly historyPolicy?: HistoryPolicy;
      readonly specialTokensInText?: SpecialTokensInText;
      /** Patterns such as `*haiku*`: calls that ask for a model of such a name are answered and not trained. */
      readonly untrainedModels?: readonly string[];
      /** The name of the context limit in errors. Default: `rollout.max_model_len`. */
      readonly contextSetting?: string;
    }
  | { readonly kind: 'chat'; readonly model: ChatModel | ((agent: AgentIdentity) => ChatModel) };

/** Sampling where a request does not say: the `rollout` section of the configuration. */
export type SamplingDefaults = {
  /** 0 means greedy. */
  readonly temperature: number;
  /** In (0, 1]. */
  readonly topP: number;
  /** 0 or -1 keeps all. */
  readonly topK: number;
  /** Generated tokens per call. */
  readonly maxTokens: number;
};

/** The user's agent program. */
export interface WorkflowLike {
  execute(task: Task, tuner: Tuner): Promise<WorkflowOutput>;
}

/** One finished run of a workflow on a task: a failed one keeps its error and is data. */
export type Episode = {
  readonly episodeId: string;
  readonly task: Task;
  /** 0..numRepeat-1 */
  readonly repeatIndex: number;
  readonly seed: number;
  readonly samples: readonly Sample[];
  /** The model calls behind the samples, for whoever looks into the episode. */
  readonly turns: readonly TurnDescription[];
  readonly stats: TrackerStats;
  readonly calls: CallCounts;
  /** How many requests of each agent had a parameter that was accepted without any effect, by its name. */
  readonly ignoredParameters: CountsByAgent<string>;
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly logMetrics: Readonly<Record<string, number>>;
  readonly seconds: number;
  /** Of them, in the judge; a group's judge also waits for the rest of its group. Absent: none was asked here. */
  readonly secondsJudging?: number;
  /** See `Tuner.attempt`; absent: 1. */
  readonly attempt?: number;
  /** In the order in which they ended; absent if there were none. */
  readonly spans?: readonly SpanRecord[];
  /** Model calls that failed, and the episode did not fail with them; absent if there were none. */
  readonly swallowedErrors?: readonly SwallowedError[];
  /** Calls of agents that do not learn, in the order in which they ended; absent if there were none. */
  readonly untrainedCalls?: readonly UntrainedCall[];
  /** What `Tuner.reward` gave; absent if it gave nothing. */
  readonly turnRewards?: readonly TurnReward[];
  /** The same by the ids of answers, for an episode whose turns are recorded elsewhere. */
  readonly paidTurns?: readonly PaidTurn[];
} & (
  | ({ readonly status: 'completed' } & Verdict)
  | {
      readonly status: 'failed';
      readonly error: EpisodeError;
    }
);

/** What became of the model calls of one episode. A call may count in several fields. */
export type CallCounts = {
  /** Calls that got an answer. */
  readonly answered: number;
  readonly aborted: number;
  /** Refused or failed, context overflow included. */
  readonly failed: number;
  /** Answered calls that were marked as not trained: they give no samples. */
  readonly untrained: number;
  /** Requests that repeated an earlier one by its requestId and got its answer. */
  readonly repeated: number;
  /** Answers cut by a token limit. */
  readonly truncated: number;
  /** Tool-call blocks that could not be read as calls. */
  readonly malformedToolCalls: number;
  /** Tool calls whose arguments are not a JSON object, or do not match the schema of their tool. */
  readonly malformedArguments: number;
  /** Tool calls that name no tool of their request. */
  readonly unknownTools: number;
  /** Answers that are not JSON though responseFormat asked for it, or do not match its schema. */
  readonly malformedJson: number;
};
