import type { ChatDelta, ChatResponse, ToolCall } from '@agentjet/core';
import type { EventStream } from '../event-stream.js';

export type ChatCompletionHead = { readonly id: string; readonly created: number; readonly model: string };

const toWireToolCall = (call: ToolCall) => ({ id: call.id, type: 'function', function: { name: call.name, arguments: call.arguments } });

export function toUsage(responses: readonly ChatResponse[]): Record<string, number> {
  const promptTokens = responses[0]?.usage.promptTokens ?? 0;
  const completionTokens = responses.reduce((sum, { usage }) => sum + usage.completionTokens, 0);
  return { prompt_tokens: promptTokens, completion_tokens: completionTokens, total_tokens: promptTokens + completionTokens };
}

function toWireMessage({ message }: ChatResponse): Record<string, unknown> {
  const toolCalls = message.toolCalls ?? [];
  return {
    role: 'assistant',
    content: message.content === '' && toolCalls.length > 0 ? null : message.content,
    refusal: null,
    ...(message.reasoning !== undefined && { reasoning_content: message.reasoning }),
    ...(toolCalls.length > 0 && { tool_calls: toolCalls.map(toWireToolCall) }),
  };
}

/** A token that is a part of a character has no text to take bytes from. */
const toBytes = (text: string): number[] | null => (text.includes('\uFFFD') ? null : [...Buffer.from(text)]);

const toWireLogprobs = (response: ChatResponse) =>
  response.logprobs === undefined
    ? null
    : {
        content: response.logprobs.map(({ text, logprob }) => ({ token: text, logprob, bytes: toBytes(text), top_logprobs: [] })),
        refusal: null,
      };

/** The body of a chat completion that is not streamed. */
export function toChatCompletion(head: ChatCompletionHead, responses: readonly ChatResponse[], withLogprobs: boolean): unknown {
  return {
    ...head,
    object: 'chat.completion',
    choices: responses.map((response, index) => ({
      index,
      message: toWireMessage(response),
      logprobs: withLogprobs ? toWireLogprobs(response) : null,
      finish_reason: response.finishReason,
    })),
    usage: toUsage(responses),
  };
}

function toWireDelta(delta: ChatDelta): Record<string, unknown> {
  if (delta.type === 'content') return { content: delta.text };
  if (delta.type === 'reasoning') return { reasoning_content: delta.text };
  return { tool_calls: [{ index: delta.index, ...toWireToolCall(delta.toolCall) }] };
}

/** Chunks of one streamed choice. */
export function createChunkWriter(stream: EventStream, head: ChatCompletionHead, index: number) {
  const chunk = (delta: unknown, finishReason: string | null, logprobs: unknown = null): void =>
    stream.send({ ...head, object: 'chat.completion.chunk', choices: [{ index, delta, logprobs, finish_reason: finishReason }] });
  return {
    start: (): void => chunk({ role: 'assistant', content: '' }, null),
    delta: (delta: ChatDelta): void => chunk(toWireDelta(delta), null),
    finish: (response: ChatResponse, withLogprobs: boolean): void =>
      chunk({}, response.finishReason, withLogprobs ? toWireLogprobs(response) : null),
  };
}
