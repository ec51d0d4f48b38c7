import type { ChatDelta, ChatMessage, JsonObject, ToolSpec } from '@agentjet/core';

/** Converts text to token ids and back. It recognises special tokens in the text, and adds nothing around it. */
export interface Tokenizer {
  readonly vocabSize: number;
  encode(text: string): Int32Array;
  /** Text of the tokens that structure a conversation, such as `<|im_end|>`. Absent if there are none. */
  readonly specialTokens?: readonly string[];
  /**
   * Encodes the text without its marks. A special token with a mark inside is plain text: it is encoded as ordinary
   * tokens. `mark` must be a string that occurs nowhere else in the text.
   */
  encodeMarked?(text: string, mark: string): Int32Array;
  /** Returns a lower bound of `encode(text).length` without encoding. Absent if the tokenizer has none. */
  countAtLeast?(text: string): number;
  /** Converts ids to text. Special tokens are printed as their text. */
  decode(ids: ArrayLike<number>): string;
  /** Returns the id of one token by its exact text, special tokens included. */
  idOf(token: string): number | undefined;
  /**
   * Creates a streaming decoder. Its `push` returns the text that is certain by now (never half a character), and its
   * `flush` returns the rest.
   */
  createStreamDecoder(): StreamDecoder;
  /**
   * Returns the result of a stream decoder for these ids, computed at once. If the result is undefined, or the function
   * absent, use a stream decoder.
   */
  decodeEach?(ids: Int32Array): DecodedIds | undefined;
  /** Returns the `ends` of `decodeEach` without making the text. */
  textEnds?(ids: Int32Array): ArrayLike<number> | undefined;
}

/** The text of ids. `ends` contains the position in the text at which each id's text ends, in UTF-16 code units. */
export type DecodedIds = { readonly text: string; readonly ends: ArrayLike<number> };

/** Takes ids and returns text piece by piece. All pieces together equal the result of `decode`. */
export interface StreamDecoder {
  push(id: number): string;
  flush(): string;
}

export type RenderOptions = {
  readonly tools?: readonly ToolSpec[];
  /** Whether the prompt ends with the header that makes the model answer. */
  readonly addGenerationPrompt: boolean;
};

/** The parsed text of the model. Tool calls have no ids, because the tracker mints them. */
export type ParsedReply = {
  readonly content: string;
  readonly reasoning?: string;
  readonly toolCalls: readonly { readonly name: string; readonly arguments: string }[];
  readonly malformedToolCalls: number;
  /**
   * The number of calls that were not parsed because they lack their tags, in an answer that consists only of calls to
   * tools of the request. Absent: none.
   */
  readonly untaggedToolCalls?: number;
  /** The answer as the model wrote it. Present if its calls were parsed although they lack their tags. */
  readonly written?: string;
};

/** The request that a reply answers. */
export type ParseOptions = {
  /** The tools of the request. They decide the types of arguments, and which calls are read without tags. */
  readonly tools?: readonly ToolSpec[];
  /** Whether the model has just written the reply. Other replies are parsed only to compare them. Default: false. */
  readonly isSampled?: boolean;
};

/**
 * The kind of a message's text, as a template may treat it. `markup`: the text contains tags of thinking, calls or
 * results, which the template may print differently from other text. `tool_result`: the template treats a user's
 * message as the result of a tool.
 */
export type TextKind = 'plain' | 'markup' | 'tool_result';

/** The chat template of a model family, with a parser for its replies. */
export interface ChatTemplate {
  /** Prints a conversation. Tool-call arguments are inserted verbatim, as the model wrote them. */
  render(messages: readonly ChatMessage[], options: RenderOptions): string;
  /** Parses the text of a completion without its stop token. */
  parse(text: string, options?: ParseOptions): ParsedReply;
  /** Creates a parser for pieces of text. Its deltas are final. Tool-call deltas have the id from `mintId`. */
  createStreamParser(mintId: (index: number) => string, options?: Pick<ParseOptions, 'tools'>): ReplyStreamParser;
  /**
   * Creates a parser that takes text and returns the part outside of thinking as soon as it is certain. That part is
   * unchanged, including tool calls, except for the newlines after a thinking block. Absent if the model does not
   * think.
   */
  createAnswerText?(): AnswerText;
  /** Names of the variables that the template reads, such as `enable_thinking`. Absent if unknown. */
  readonly variables?: ReadonlySet<string>;
  /**
   * The variables that turn thinking off. Absent if the model does not think, or if its template has no such switch.
   */
  readonly thinkingOff?: JsonObject;
  /** Ids that end the assistant's turn. The last id of a completion is one of these unless it was truncated. */
  readonly stopIds: readonly number[];
  /**
   * Returns the text with which a tool call begins: up to the tool's name, or up to the arguments if `name` is given.
   * The result is undefined, or the function absent, if the model has no format for calls.
   */
  callOpening?(name?: string): string | undefined;
  /**
   * Returns the kind of a message's text. Two messages of one role with the same fields and kind are printed alike in
   * similar positions. If this function is absent, every text is plain.
   */
  textKind?(message: ChatMessage): TextKind;
  /** The tags around a thinking block, which frameworks may leave in the text or remove. */
  readonly reasoningTags?: readonly string[];
}

/** Returns the part of a reply that is not thinking, piece by piece. */
export interface AnswerText {
  push(text: string): string;
  flush(): string;
}

/**
 * Takes text and returns deltas. Together they equal the reply that `flush` returns, which is the result of `parse`.
 */
export interface ReplyStreamParser {
  push(text: string): readonly ChatDelta[];
  flush(): { readonly deltas: readonly ChatDelta[]; readonly reply: ParsedReply };
}

/** The tokenizer and the chat template of a model folder, which are always needed together. */
export type ChatTokenizer = {
  readonly tokenizer: Tokenizer;
  readonly template: ChatTemplate;
  /**
   * Returns this chat tokenizer with additional variables of the template, such as `enable_thinking`. Equal variables
   * give the same object. Absent if the template has no variables.
   */
  withVariables?(variables: JsonObject): ChatTokenizer;
  /**
   * Jinja source of the template if it differs from the source in the model's files. Model folders that we write
   * contain this source.
   */
  readonly changedTemplate?: string;
  /** Counts the formats in which sampled answers have written calls so far. Absent if they are not counted. */
  readonly countCallForms?: () => CallForms;
};

/**
 * Numbers of answers with tool calls. `tagged`: calls in the form of the model's template. `untagged`: calls in bare
 * JSON, whether or not they were parsed.
 */
export type CallForms = { readonly tagged: number; readonly untagged: number };
