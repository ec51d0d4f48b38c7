import { EngineError, toErrorMessage, type ChatDelta, type ChatResponse, type ToolCall } from '@agentjet/core';
import type { OpenAI } from 'openai';
import { ParameterError } from './checks.js';

export type Head = { readonly id: string; readonly created: number; readonly model: string };

/** What DeepSeek and others call a thinking block; the SDK passes it through, though its types do not know it. */
type WithReasoning = { readonly reasoning_content?: string };

export function toCompletion(head: Head, responses: readonly ChatResponse[], withLogprobs: boolean): OpenAI.ChatCompletion {
  const choices = responses.map((response, index) => ({
    index,
    message: toWireMessage(response),
    logprobs: withLogprobs ? toWireLogprobs(response) : null,
    finish_reason: response.finishReason,
  }));
  return { ...head, object: 'chat.completion', choices, usage: toUsage(responses) };
}

function toWireMessage({ message }: ChatResponse): OpenAI.ChatCompletionMessage & WithReasoning {
  const { content, reasoning, toolCalls = [] } = message;
  return {
    role: 'assistant',
    content: content === '' && toolCalls.length > 0 ? null : content,
    refusal: null,
    ...(reasoning !== undefined && { reasoning_content: reasoning }),
    ...(toolCalls.length > 0 && { tool_calls: toolCalls.map(toWireToolCall) }),
  };
}

export function toDeltaChunk(head: Head, index: number, delta: ChatDelta): OpenAI.ChatCompletionChunk {
  return toChunk(head, { index, delta: toWireDelta(delta), finish_reason: null });
}

export function toFirstChunk(head: Head, index: number): OpenAI.ChatCompletionChunk {
  return toChunk(head, { index, delta: { role: 'assistant', content: '' }, finish_reason: null });
}

export function toLastChunk(head: Head, index: number, response: ChatResponse, withLogprobs: boolean): OpenAI.ChatCompletionChunk {
  return toChunk(head, { index, delta: {}, finish_reason: response.finishReason, ...(withLogprobs && { logprobs: toWireLogprobs(response) }) });
}

export function toUsageChunk(head: Head, responses: readonly ChatResponse[]): OpenAI.ChatCompletionChunk {
  return { ...head, object: 'chat.completion.chunk', choices: [], usage: toUsage(responses) };
}

function toChunk(head: Head, choice: OpenAI.ChatCompletionChunk.Choice): OpenAI.ChatCompletionChunk {
  return { ...head, object: 'chat.completion.chunk', choices: [choice] };
}

function toWireDelta(delta: ChatDelta): OpenAI.ChatCompletionChunk.Choice.Delta & WithReasoning {
  switch (delta.type) {
    case 'content':
      return { content: delta.text };
    case 'reasoning':
      return { reasoning_content: delta.text };
    default:
      return { tool_calls: [{ index: delta.index, ...toWireToolCall(delta.toolCall) }] };
  }
}

function toWireToolCall(call: ToolCall): OpenAI.ChatCompletionMessageFunctionToolCall {
  return { id: call.id, type: 'function', function: { name: call.name, arguments: call.arguments } };
}

function toWireLogprobs({ logprobs }: ChatResponse): OpenAI.ChatCompletion.Choice.Logprobs | null {
  if (logprobs === undefined) return null;
  return { content: logprobs.map(({ text, logprob }) => ({ token: text, logprob, bytes: toBytes(text), top_logprobs: [] })), refusal: null };
}

/** A token that is a part of a character has no text to take bytes from. */
function toBytes(text: string): number[] | null {
  return text.includes('\uFFFD') ? null : [...Buffer.from(text)];
}

function toUsage(responses: readonly ChatResponse[]): OpenAI.CompletionUsage {
  const promptTokens = responses[0]?.usage.promptTokens ?? 0;
  const completionTokens = responses.reduce((sum, { usage }) => sum + usage.completionTokens, 0);
  return { prompt_tokens: promptTokens, completion_tokens: completionTokens, total_tokens: promptTokens + completionTokens };
}

export type WireError = { readonly status: number; readonly body: { readonly error: { readonly message: string; readonly type: string; readonly param: string | null; readonly code: string } } };

const statusOf: Readonly<Record<string, readonly [status: number, type: string, code: string]>> = {
  context_overflow: [400, 'invalid_request_error', 'context_length_exceeded'],
  bad_request: [400, 'invalid_request_error', 'invalid_value'],
  not_found: [404, 'invalid_request_error', 'not_found'],
  closed: [410, 'invalid_request_error', 'episode_ended'],
  idempotency_key_reused: [400, 'invalid_request_error', 'idempotency_key_reused'],
};

/** The SDK makes its own error types of these: BadRequestError, NotFoundError, InternalServerError, APIError. */
export function toWireError(thrown: unknown): WireError {
  const [status, type, code] = (thrown instanceof EngineError ? statusOf[thrown.code] : undefined) ?? [500, 'server_error', 'engine_error'];
  const param = thrown instanceof ParameterError ? thrown.parameter : null;
  return { status, body: { error: { message: toErrorMessage(thrown), type, param, code } } };
}
