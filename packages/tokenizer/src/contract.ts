import type { ChatDelta, ChatMessage, JsonObject, ToolSpec } from '@agentjet/core';

/** Text to token ids and back. Special tokens in the text are recognised; nothing is added around it. */
export interface Tokenizer {
  readonly vocabSize: number;
  encode(text: string): Int32Array;
  /** Text of the tokens that structure a conversation, such as `<|im_end|>`. Absent if it knows none. */
  readonly specialTokens?: readonly string[];
  /**
   * `encode` of the text without its marks, except that a token with a mark inside is plain text: it is spelled by
   * ordinary tokens. `mark` must be a string that occurs nowhere else in the text.
   */
  encodeMarked?(text: string, mark: string): Int32Array;
  /** A lower bound of `encode(text).length`, found without encoding. Absent if the tokenizer knows none. */
  countAtLeast?(text: string): number;
  /** Special tokens are kept as their text. */
  decode(ids: ArrayLike<number>): string;
  /** Id of one token's exact text, special tokens included. */
  idOf(token: string): number | undefined;
  /** A streaming decoder: `push` returns the text that is certain by now (never half a character), `flush` the rest. */
  createStreamDecoder(): StreamDecoder;
  /** What a stream decoder says of these ids, found at once. Undefined (or no such function): ask a stream decoder. */
  decodeEach?(ids: Int32Array): DecodedIds | undefined;
  /** The `ends` of `decodeEach`, without making the text. */
  textEnds?(ids: Int32Array): ArrayLike<number> | undefined;
}

/** The text of ids, and where that of each ends in it, in UTF-16 code units. */
export type DecodedIds = { readonly text: string; readonly ends: ArrayLike<number> };

/** Ids in, text out, piece by piece; together the pieces are what `decode` gives. */
export interface StreamDecoder {
  push(id: number): string;
  flush(): string;
}

export type RenderOptions = {
  readonly tools?: readonly ToolSpec[];
  /** Ends with the header that makes the model answer. */
  readonly addGenerationPrompt: boolean;
};

/** What the model's text means. Tool calls come without ids: the tracker mints them. */
export type ParsedReply = {
  readonly content: string;
  readonly reasoning?: string;
  readonly toolCalls: readonly { readonly name: string; readonly arguments: string }[];
  readonly malformedToolCalls: number;
  /** Calls that were not read because they lack their tags: the answer is nothing but calls of tools of the request. Absent: none. */
  readonly untaggedToolCalls?: number;
  /** The answer as it was written, if its calls were read without their tags. */
  readonly written?: string;
};

/** What a reply answers. */
export type ParseOptions = {
  /** The tools of the request: types of arguments, and which calls are read without tags. */
  readonly tools?: readonly ToolSpec[];
  /** Whether the model has just written it; other replies are read to compare them. Default: false. */
  readonly isSampled?: boolean;
};

/**
 * What a template may see in the text of a message. `markup`: tags of thinking, calls or results, which it may print in
 * another way than other text. `tool_result`: a user's message that it takes for the result of a tool.
 */
export type TextKind = 'plain' | 'markup' | 'tool_result';

/** One model family's chat template, and how to read its replies. */
export interface ChatTemplate {
  /** Tool-call arguments are inserted verbatim, as the model wrote them. */
  render(messages: readonly ChatMessage[], options: RenderOptions): string;
  /** Text of a completion without its stop token. */
  parse(text: string, options?: ParseOptions): ParsedReply;
  /** Feeds `parse` piecewise; deltas are final as soon as they come out. Tool-call deltas carry the id from `mintId`. */
  createStreamParser(mintId: (index: number) => string, options?: Pick<ParseOptions, 'tools'>): ReplyStreamParser;
  /**
   * Takes text and gives the part outside of thinking as soon as it is certain. That part is as the model wrote it, tool calls included, without the
   * newlines after a thinking block. Absent if the model does not think.
   */
  createAnswerText?(): AnswerText;
  /** Names of the variables that the template reads, such as `enable_thinking`. Absent if they are not known. */
  readonly variables?: ReadonlySet<string>;
  /** The variables that turn thinking off. Absent if the model does not think, or has no such switch. */
  readonly thinkingOff?: JsonObject;
  /** Ids that end the assistant's turn; a completion's last id is one of these unless it was truncated. */
  readonly stopIds: readonly number[];
  /**
   * Text that makes an answer begin as a tool call: up to the place of the tool's name or, where that is given, of the
   * arguments. Undefined (or no such function) where the model has no form for calls.
   */
  callOpening?(name?: string): string | undefined;
  /**
   * Two messages of one role with the same fields and kind of text are printed alike in like places. Without this
   * function every text is plain.
   */
  textKind?(message: ChatMessage): TextKind;
  /** The tags around a thinking block, which frameworks leave in a text or take out of it. */
  readonly reasoningTags?: readonly string[];
}

/** The part of a reply that is not thinking, piece by piece. */
export interface AnswerText {
  push(text: string): string;
  flush(): string;
}

/** Text in, deltas out; together the deltas are the reply that `flush` returns, which is what `parse` gives. */
export interface ReplyStreamParser {
  push(text: string): readonly ChatDelta[];
  flush(): { readonly deltas: readonly ChatDelta[]; readonly reply: ParsedReply };
}

/** What a model folder says about text: the two halves that are always needed together. */
export type ChatTokenizer = {
  readonly tokenizer: Tokenizer;
  readonly template: ChatTemplate;
  /**
   * The same with further variables of the template, such as `enable_thinking`; equal variables give the same object. Absent if the template
   * has none.
   */
  withVariables?(variables: JsonObject): ChatTokenizer;
  /** Jinja source of the template, if it is not the one of the model's files: model folders that are written get it. */
  readonly changedTemplate?: string;
  /** How the calls of sampled answers were written so far. Absent if nobody counts. */
  readonly countCallForms?: () => CallForms;
};

/** Answers with tool calls. `tagged`: in the form of the model's template. `untagged`: as bare JSON, whether they were read or not. */
export type CallForms = { readonly tagged: number; readonly untagged: number };
