import type { ChatDelta, ChatFinishReason, ChatResponse, TokenLogprob, ToolCall } from '@agentjet/core';
import { readCustomInput } from './custom-tools.js';
import { countReasoningTokens, inPieces } from './pieces.js';

/** The common head of a completion and of all chunks of a stream. `created` is in seconds. */
export type Head = { readonly id: string; readonly created: number; readonly model: string };

export type CompletionBody = ReturnType<typeof toChatCompletion>;

/** Converts answers to a completion. `custom` has the names of the custom tools. */
export function toChatCompletion(
  head: Head,
  responses: readonly ChatResponse[],
  { withLogprobs, custom }: { readonly withLogprobs: boolean; readonly custom: ReadonlySet<string> },
) {
  const choices = responses.map((response, index) => ({
    index,
    message: toWireMessage(response, custom),
    logprobs: toWireLogprobs(withLogprobs ? response.logprobs : undefined),
    finish_reason: response.finishReason,
  }));
  return { ...head, object: 'chat.completion' as const, choices, usage: toUsage(responses) };
}

/**
 * Converts an answer. Its thinking is in `reasoning_content`, as DeepSeek and others do it. OpenAI's SDK passes this
 * field on, although its types lack it.
 */
function toWireMessage({ message: { content, reasoning, toolCalls = [] } }: ChatResponse, custom: ReadonlySet<string>) {
  return {
    role: 'assistant' as const,
    content: content === '' && toolCalls.length > 0 ? null : content,
    refusal: null,
    ...(reasoning !== undefined && { reasoning_content: reasoning }),
    ...(toolCalls.length > 0 && { tool_calls: toolCalls.map((call) => toWireToolCall(call, custom)) }),
  };
}

function toWireToolCall({ id, name, arguments: text }: ToolCall, custom: ReadonlySet<string>) {
  return custom.has(name)
    ? { id, type: 'custom' as const, custom: { name, input: readCustomInput(text) } }
    : { id, type: 'function' as const, function: { name, arguments: text } };
}

function toWireLogprobs(logprobs: readonly TokenLogprob[] | undefined) {
  if (logprobs === undefined) return null;
  return {
    content: logprobs.map(({ text, logprob }) => ({ token: text, logprob, bytes: toBytes(text), top_logprobs: [] })),
    refusal: null,
  };
}

/**
 * Returns the bytes of a token. Null if the token is a part of a character: its text is then U+FFFD, so its bytes are
 * not known.
 */
function toBytes(text: string): number[] | null {
  return text.includes('\uFFFD') ? null : [...Buffer.from(text)];
}

/** Adds up the usage of all answers. Their prompt counts once. */
export function toUsage(responses: readonly ChatResponse[]) {
  const promptTokens = responses[0]?.usage.promptTokens ?? 0;
  const completionTokens = responses.reduce((sum, { usage }) => sum + usage.completionTokens, 0);
  return {
    prompt_tokens: promptTokens,
    completion_tokens: completionTokens,
    total_tokens: promptTokens + completionTokens,
    prompt_tokens_details: { cached_tokens: 0, audio_tokens: 0 },
    completion_tokens_details: {
      reasoning_tokens: responses.reduce((sum, response) => sum + countReasoningTokens(response), 0),
      audio_tokens: 0,
      accepted_prediction_tokens: 0,
      rejected_prediction_tokens: 0,
    },
  };
}

type ChunkChoice = {
  readonly index: number;
  readonly delta: WireDelta;
  readonly logprobs: ReturnType<typeof toWireLogprobs>;
  readonly finish_reason: ChatFinishReason | null;
};
/** A chunk of a streamed completion. The last one may have usage and no choice. */
export type CompletionChunk = Head & {
  readonly object: 'chat.completion.chunk';
  readonly choices: ChunkChoice[];
  readonly usage?: ReturnType<typeof toUsage>;
};

export function toFirstChunk(head: Head, index: number): CompletionChunk {
  return toChunk(head, { index, delta: { role: 'assistant', content: '' }, logprobs: null, finish_reason: null });
}

/**
 * `tokens` are the tokens since the previous delta, or none if logprobs are not requested. `custom` has the names of
 * the custom tools.
 */
export function toDeltaChunks(
  head: Head,
  index: number,
  delta: ChatDelta,
  { tokens, custom }: { readonly tokens: readonly TokenLogprob[]; readonly custom: ReadonlySet<string> },
): readonly CompletionChunk[] {
  return toWireDeltas(delta, custom).map((piece, at) => {
    const logprobs = at === 0 && tokens.length > 0 ? toWireLogprobs(tokens) : null;
    return toChunk(head, { index, delta: piece, logprobs, finish_reason: null });
  });
}

/** `tokens` are the tokens after the last delta. Undefined if logprobs are not requested or not known. */
export function toLastChunk(
  head: Head,
  index: number,
  { finishReason }: ChatResponse,
  tokens: readonly TokenLogprob[] | undefined,
): CompletionChunk {
  return toChunk(head, { index, delta: {}, logprobs: toWireLogprobs(tokens), finish_reason: finishReason });
}

export function toUsageChunk(head: Head, responses: readonly ChatResponse[]): CompletionChunk {
  return { ...toChunk(head), usage: toUsage(responses) };
}

function toChunk(head: Head, ...choices: ChunkChoice[]): CompletionChunk {
  return { ...head, object: 'chat.completion.chunk', choices };
}

type WireDelta =
  | { readonly role?: 'assistant'; readonly content?: string; readonly reasoning_content?: string }
  | {
      readonly tool_calls: ({ readonly index: number; readonly id?: string } & (
        | { readonly type?: 'function'; readonly function: { readonly name?: string; readonly arguments: string } }
        | { readonly type?: 'custom'; readonly custom: { readonly name?: string; readonly input: string } }
      ))[];
    };

/** Converts a delta. The first delta of a call has its name and no arguments, and the arguments follow in pieces. */
function toWireDeltas(delta: ChatDelta, custom: ReadonlySet<string>): readonly WireDelta[] {
  if (delta.type === 'content') return [{ content: delta.text }];
  if (delta.type === 'reasoning') return [{ reasoning_content: delta.text }];
  const { index, toolCall } = delta;
  const begin = { tool_calls: [{ index, ...toWireToolCall({ ...toolCall, arguments: '' }, custom) }] };
  if (custom.has(toolCall.name)) {
    const pieces = inPieces(readCustomInput(toolCall.arguments));
    return [begin, ...pieces.map((input) => ({ tool_calls: [{ index, custom: { input } }] }))];
  }
  const pieces = inPieces(toolCall.arguments);
  return [begin, ...pieces.map((text) => ({ tool_calls: [{ index, function: { arguments: text } }] }))];
}
