import { isJsonObject, parseJsonObject } from '@agentjet/core';
import type { ModelAnswer, ModelQuestion } from './model-client.js';
import type { Request } from './send-request.js';

/** One chat completion. */
export function toChatRequest(question: ModelQuestion, model: string): Request<ModelAnswer> {
  const { messages, temperature, maxTokens, seed, schema } = question;
  const body = {
    model,
    messages,
    temperature,
    max_tokens: maxTokens,
    ...(seed !== undefined && { seed }),
    ...(schema !== undefined && {
      response_format: { type: 'json_schema', json_schema: { name: schema.name, schema: schema.schema, strict: true } },
    }),
  };
  return { body, read: readAnswer };
}

function readAnswer(text: string): ModelAnswer | { readonly mistake: string } {
  const body = parseJsonObject(text);
  const choice: unknown = Array.isArray(body?.['choices']) ? body['choices'][0] : undefined;
  const message = isJsonObject(choice) ? choice['message'] : undefined;
  const content = isJsonObject(message) ? message['content'] : undefined;
  if (typeof content !== 'string') return { mistake: 'an answer without choices[0].message.content' };
  const finishReason =
    isJsonObject(choice) && typeof choice['finish_reason'] === 'string' ? choice['finish_reason'] : '';
  return { text: content, finishReason, ...tokensOf(body?.['usage']) };
}

/** 0 if the server does not say. */
function tokensOf(usage: unknown): { readonly promptTokens: number; readonly completionTokens: number } {
  const count = (name: string): number => {
    const tokens = isJsonObject(usage) ? usage[name] : undefined;
    return typeof tokens === 'number' && tokens >= 0 && Number.isFinite(tokens) ? tokens : 0;
  };
  return { promptTokens: count('prompt_tokens'), completionTokens: count('completion_tokens') };
}
