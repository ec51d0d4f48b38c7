import type {
  AssistantMessage,
  ChatDelta,
  ChatFinishReason,
  ChatMessage,
  ChatRequest,
  Completion,
  ForkCause,
  Sample,
} from '@agentjet/core';
import type { ChatTokenizer } from '@agentjet/tokenizer';
import type { PackedTurns } from './inspection/packed-turn.js';
import type { SampledRow } from './tokens/sampled-rows.js';

/**
 * Identifies the agent of a call. Agents with different `agentName` have separate histories; `targetTag` is only
 * recorded.
 */
export type AgentIdentity = { readonly agentName: string; readonly targetTag: string };

/**
 * A recorded turn is an answer that our engine sampled in this episode. `as_generated`: a recorded turn keeps its ids
 * even if it is sent back in another spelling, as long as it is recognised. `as_sent`: the model sees exactly what was
 * sent.
 */
export type HistoryPolicy = 'as_generated' | 'as_sent';

/**
 * How the tracker treats special tokens in text that the model did not write. `split`: as plain text. `as_template`: as
 * control tokens, which is what most servers do. `refuse`: the request is an error.
 */
export type SpecialTokensInText = 'split' | 'as_template' | 'refuse';

export type TurnOptions = {
  /**
   * The text that the answer must begin with. It follows the prompt and is never trained, because the model did not
   * choose it. It is part of the parsed answer.
   */
  readonly opening?: string | undefined;
  /** The chat template of this call, over the same vocabulary. Default: that of the agent. */
  readonly chatTokenizer?: ChatTokenizer | undefined;
};

/** One model call between `begin` and `commit`. */
export interface Turn {
  readonly id: string;
  /** Position in the order of `begin`, from 0. Calls that were never committed have a position too. */
  readonly index: number;
  /**
   * Shape [P]: the prompt for the engine. Its prefix reuses exact ids that the model has seen. It is a view; do not
   * write to it.
   */
  readonly promptIds: Int32Array;
  /** Ids that end the model's turn. */
  readonly stopIds: readonly number[];
  /** Number of leading prompt ids that were reused from earlier calls. */
  readonly reusedTokens: number;
  /**
   * Why the prompt of this call does not extend a known history. Undefined if it does, or if it starts a new history.
   */
  readonly fork: ForkCause | undefined;
  /** Creates a stream that turns ids into text deltas. Streaming does not affect `commit`. */
  createStream(onDelta: (delta: ChatDelta) => void): { push(id: number): void; flush(): void };
  /** Parses a completion without recording it, for a call that is not trained. */
  read(completion: Completion): CommittedTurn;
  /** Records the completion under the prompt it was sampled from, and parses the reply. No other method writes. */
  commit(completion: Completion, options?: CommitOptions): CommittedTurn;
}

/** Describes a completion that was not sampled with the run's settings. */
export type CommitOptions = {
  /**
   * The temperature of this completion. The tracker records it with each token, so that the loss can use it. Default:
   * the temperature of the run, which is not recorded.
   */
  readonly temperature?: number | undefined;
  /** If false, the tokens are kept as context and not trained. Default: true. */
  readonly isTrained?: boolean;
  readonly times?: CallTimes | undefined;
};

/** When a call was made, and what the engine did meanwhile. An engine that does not measure time leaves three keys out. */
export type CallTimes = {
  /** Milliseconds since the episode began. */
  readonly beganMs: number;
  readonly endedMs: number;
  /** How long the call waited for its turn, the prompt was read, and tokens were sampled. */
  readonly waitedMs?: number;
  readonly promptMs?: number;
  readonly samplingMs?: number;
};

/** The answer as the caller sees it. */
export type CommittedTurn = {
  readonly message: AssistantMessage;
  readonly finishReason: ChatFinishReason;
  readonly malformedToolCalls: number;
  /** Text of each generated token, for logprobs. */
  readonly tokenTexts: readonly string[];
};

/** Statistics of one episode. */
export type TrackerStats = {
  readonly calls: number;
  readonly generatedTokens: number;
  /**
   * Equals generatedTokens, because each generated token is trained exactly once. Neither number includes turns that
   * are not trained.
   */
  readonly trainedTokens: number;
  readonly samples: number;
  readonly forks: CountsByAgent<ForkCause>;
  /** Answers that kept their ids although the framework changed their spelling. */
  readonly splices: CountsByAgent<SpliceCause>;
  /** Assistant messages in a request that our engine did not write. */
  readonly foreignMessages: CountsByAgent<ForeignCause>;
  /** Special tokens in text that the model did not write, by the role of the message. */
  readonly specialTokens: CountsByAgent<ChatMessage['role']>;
};

/** Counts by agentName, then cause. Zero counts are left out. */
export type CountsByAgent<Cause extends string> = Readonly<Record<string, Counts<Cause>>>;
export type Counts<Cause extends string> = Readonly<Partial<Record<Cause, number>>>;

/**
 * How a recorded answer was recognised in another spelling. `call_ids`: by the ids of its tool calls. `text`: by its
 * text. `regrouped`: one message holds several answers, or several messages hold one. `printed_alike`: under `as_sent`,
 * the template prints both spellings alike.
 */
export type SpliceCause = 'call_ids' | 'text' | 'regrouped' | 'printed_alike';

/**
 * Why an assistant message is foreign. `edited`: the message has ids of tool calls that we minted, but differs from
 * what we recorded. `unknown`: no part of the message was recorded.
 */
export type ForeignCause = 'edited' | 'unknown';

/** One committed call in plain JSON, as `ajet inspect` shows it. */
export type TurnDescription = {
  readonly turnId: string;
  /** Position among the committed calls in the order of `begin`; `Sample.turnIndices` contains it. */
  readonly index: number;
  readonly agentName: string;
  readonly targetTag: string;
  readonly promptTokens: number;
  readonly reusedTokens: number;
  readonly generatedTokens: number;
  readonly policyVersion: number;
  /** Whether a token limit ended the answer. It then has no stop token. */
  readonly isTruncated: boolean;
  /** Present if the caller ended the answer before its stop token: with a stop string, or after one call. */
  readonly hasStopToken?: false;
  /** Present if its tokens are not trained, because the loss cannot express the distribution they were sampled from. */
  readonly isTrained?: false;
  readonly fork: ForkCause | null;
  /**
   * The row that trains its tokens, as an index in the result of `finish()`. In this row, its tokens are at
   * promptTokens to promptTokens + generatedTokens. Null if nothing was sampled.
   */
  readonly sample: number | null;
  /**
   * Earlier answers that this call sent back in another spelling for the first time. `turn` is the `index` of the turn
   * that gave the answer.
   */
  readonly splices: readonly { readonly turn: number; readonly cause: SpliceCause }[];
  readonly foreignMessages: Counts<ForeignCause>;
  /** Authors of the prompt tokens that no earlier call had. Tokens outside of all parts belong to the chat template. */
  readonly parts: readonly TurnPart[];
  /** Absent if the caller did not measure the call, or if the call was replayed. */
  readonly times?: CallTimes;
};

/**
 * Tokens `start` to `end` (exclusive) of a row that contain the text of one message. `name` is the `name` of that
 * message.
 */
export type TurnPart = {
  readonly author: PartAuthor;
  readonly name?: string;
  readonly start: number;
  readonly end: number;
};

/**
 * `model`: a recorded answer, printed again after other messages. `foreign`: an assistant message that our engine did
 * not write. `opening`: the text that the answer had to begin with.
 */
export type PartAuthor = 'system' | 'user' | 'tool' | 'model' | 'foreign' | 'opening';

/** One conversation of an agent, with the answers of its model. An agent may have several. */
export type AgentTranscript = { readonly agentName: string; readonly messages: readonly ChatMessage[] };

/** Records the calls of one episode. Calls may overlap and commit in any order. */
export interface ContextTracker {
  /** Resolves the prompt without changing anything. */
  begin(agent: AgentIdentity, request: ChatRequest, options?: TurnOptions): Turn;
  /**
   * Sets the position of the next call. A replay of recorded calls uses this to skip calls that were never committed.
   */
  skipTo(index: number): void;
  /** Returns the number of prompt tokens that `begin` would resolve. */
  countPromptTokens(agent: AgentIdentity, request: ChatRequest, options?: TurnOptions): number;
  /** Closes the episode. Further calls return the same result. */
  finish(): readonly Sample[];
  /** Closes the episode as `finish` does, and returns the same rows as spans, without copying tokens. */
  finishRows(): readonly SampledRow[];
  stats(): TrackerStats;
  /** Describes every committed call and the position of its tokens in the samples, for inspection. */
  describe(): readonly TurnDescription[];
  /** Returns the same as `packTurns(tracker.describe(), laterMs)` in less time. */
  packTurns(laterMs?: number): PackedTurns;
  /** Returns what the last committed answer says: its text, or its tool calls if it has no text. Undefined if there is none. */
  lastAnswer(): string | undefined;
  /** Returns the conversations of all agents so far, in the order in which their last answers were committed. */
  transcripts(): readonly AgentTranscript[];
}
