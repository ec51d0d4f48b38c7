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
import type { SampledRow } from './tokens/sampled-rows.js';

/** Whose call it is. Histories are told apart by `agentName`; `targetTag` is recorded. */
export type AgentIdentity = { readonly agentName: string; readonly targetTag: string };

/** `as_generated`: a recognised turn of ours keeps its own ids, however the framework re-spelled it. `as_sent`: what was sent is what the model sees. */
export type HistoryPolicy = 'as_generated' | 'as_sent';

/**
 * What becomes of special tokens in text that the model did not write. `split`: they are plain text. `as_template`: they
 * are control tokens, as most servers have it. `refuse`: the request is an error.
 */
export type SpecialTokensInText = 'split' | 'as_template' | 'refuse';

export type TurnOptions = {
  /**
   * Text that the answer is made to begin with. It stands behind the prompt (the model is given it and did not choose it,
   * so it is never trained) and is part of the answer that is read.
   */
  readonly opening?: string | undefined;
  /** The chat template of this call, over the same vocabulary. Default: that of the agent. */
  readonly chatTokenizer?: ChatTokenizer | undefined;
};

/** One model call between `begin` and `commit`. */
export interface Turn {
  readonly id: string;
  /** Place in the order of `begin`, from 0; calls that were never committed have one too. */
  readonly index: number;
  /** Shape [P]: what to give the engine. Its prefix reuses exact ids of what the model has seen. A view: must not be written to. */
  readonly promptIds: Int32Array;
  /** Ids that end the model's turn. */
  readonly stopIds: readonly number[];
  /** Number of leading prompt ids that were reused from earlier calls. */
  readonly reusedTokens: number;
  /** Why this call could not extend what was seen; undefined where it extends, or starts a new root. */
  readonly fork: ForkCause | undefined;
  /** Streams text deltas; optional, and without influence on `commit`. */
  createStream(onDelta: (delta: ChatDelta) => void): { push(id: number): void; flush(): void };
  /** Parses a completion without recording it, for a call that is not trained. */
  read(completion: Completion): CommittedTurn;
  /** The only write. Records the completion under the prompt it was sampled from, and parses the reply. */
  commit(completion: Completion, options?: CommitOptions): CommittedTurn;
}

/** How a completion was sampled, if not as the run samples. */
export type CommitOptions = {
  /** Recorded with each token, so that the loss can use it. Default: the run's, which no token names. */
  readonly temperature?: number | undefined;
  /** False: the tokens are kept as context, and not trained. Default: true. */
  readonly isTrained?: boolean;
};

/** The answer as the caller sees it. */
export type CommittedTurn = {
  readonly message: AssistantMessage;
  readonly finishReason: ChatFinishReason;
  readonly malformedToolCalls: number;
  /** Text of each generated token, for logprobs. */
  readonly tokenTexts: readonly string[];
};

/** What one episode has recorded. */
export type TrackerStats = {
  readonly calls: number;
  readonly generatedTokens: number;
  /** Equals generatedTokens, as each generated token is trained exactly once; turns that are not trained do not count. */
  readonly trainedTokens: number;
  readonly samples: number;
  readonly forks: CountsByAgent<ForkCause>;
  /** Answers put back by their own ids though the framework changed their spelling. */
  readonly splices: CountsByAgent<SpliceCause>;
  /** Assistant messages in a request that no engine of ours wrote. */
  readonly foreignMessages: CountsByAgent<ForeignCause>;
  /** Special tokens in text that the model did not write, by the role of the message. */
  readonly specialTokens: CountsByAgent<ChatMessage['role']>;
};

/** By agentName, then cause; what never happened is left out. */
export type CountsByAgent<Cause extends string> = Readonly<Record<string, Counts<Cause>>>;
export type Counts<Cause extends string> = Readonly<Partial<Record<Cause, number>>>;

/**
 * How an answer of ours was recognised in another spelling: by the ids of its tool calls, by its text, taken out of a
 * message that holds several answers (or a part of one), or, under `as_sent`, because the template prints both alike.
 */
export type SpliceCause = 'call_ids' | 'text' | 'regrouped' | 'printed_alike';

/** `edited`: it carries ids of tool calls that we minted, but does not say what we recorded. `unknown`: nothing in it is ours. */
export type ForeignCause = 'edited' | 'unknown';

/** One committed call, as `ajet inspect` shows it; plain JSON. */
export type TurnDescription = {
  readonly turnId: string;
  /** Place among the committed calls in the order of `begin`: what stands in `Sample.turnIndices`. */
  readonly index: number;
  readonly agentName: string;
  readonly targetTag: string;
  readonly promptTokens: number;
  readonly reusedTokens: number;
  readonly generatedTokens: number;
  readonly policyVersion: number;
  /** The answer has no stop token: a token limit or a stop text ended it. */
  readonly isTruncated: boolean;
  /** Present if its tokens are not trained: they were sampled from another distribution than the loss can tell. */
  readonly isTrained?: false;
  readonly fork: ForkCause | null;
  /** Index into `finish()`: the row that trains its tokens, at promptTokens to promptTokens + generatedTokens. Null where nothing was sampled. */
  readonly sample: number | null;
  /** Answers that this call was the first to send back in another spelling. `turn` is an index as above. */
  readonly splices: readonly { readonly turn: number; readonly cause: SpliceCause }[];
  readonly foreignMessages: Counts<ForeignCause>;
  /** Who wrote the prompt tokens that no earlier call had; what no part covers is the chat template's. */
  readonly parts: readonly TurnPart[];
};

/** Tokens `start` to `end` (exclusive) of a row hold the text of one message. `name`: as the message says. */
export type TurnPart = {
  readonly author: PartAuthor;
  readonly name?: string;
  readonly start: number;
  readonly end: number;
};

/**
 * `model`: an answer of ours, printed again after other messages. `foreign`: an assistant message that no engine of ours
 * wrote. `opening`: what the answer was made to begin with.
 */
export type PartAuthor = 'system' | 'user' | 'tool' | 'model' | 'foreign' | 'opening';

/** One conversation of an agent: what it was told and what its model answered. An agent may have several. */
export type AgentTranscript = { readonly agentName: string; readonly messages: readonly ChatMessage[] };

/** Records the calls of one episode. Calls may overlap and commit in any order. */
export interface ContextTracker {
  /** Resolves the prompt without changing anything. */
  begin(agent: AgentIdentity, request: ChatRequest, options?: TurnOptions): Turn;
  /** The next call begins at this place: when recorded calls are replayed, those that were never committed are left out. */
  skipTo(index: number): void;
  /** Tokens of the prompt that `begin` would resolve. */
  countPromptTokens(agent: AgentIdentity, request: ChatRequest, options?: TurnOptions): number;
  /** Closes the episode; asked again, it returns the same. */
  finish(): readonly Sample[];
  /** Closes the episode as `finish` does, and tells the same rows in spans: no token of them is copied. */
  finishRows(): readonly SampledRow[];
  stats(): TrackerStats;
  /** Every committed call and where its tokens stand in the samples: what inspection shows. */
  describe(): readonly TurnDescription[];
  /** The conversations of all agents so far, in the order in which their last answers were committed. */
  transcripts(): readonly AgentTranscript[];
}
