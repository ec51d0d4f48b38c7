import type { ChatResponse } from '@agentjet/core';
import type {
  LanguageModelV3Content,
  LanguageModelV3FinishReason,
  LanguageModelV3ToolCall,
  LanguageModelV3Usage,
  SharedV3ProviderMetadata,
} from '@ai-sdk/provider';
import { toStash } from './assistant-turns.js';

export function toContent(response: ChatResponse): LanguageModelV3Content[] {
  const { content, reasoning } = response.message;
  const providerMetadata = toStash(response);
  return [
    ...(reasoning === undefined || reasoning === ''
      ? []
      : [{ type: 'reasoning' as const, text: reasoning, providerMetadata }]),
    ...(content === '' ? [] : [{ type: 'text' as const, text: content, providerMetadata }]),
    ...toToolCalls(response),
  ];
}

export function toToolCalls(response: ChatResponse): readonly LanguageModelV3ToolCall[] {
  const providerMetadata = toStash(response);
  return (response.message.toolCalls ?? []).map(({ id, name, arguments: input }) => ({
    type: 'tool-call',
    toolCallId: id,
    toolName: name,
    input,
    providerMetadata,
  }));
}

export function toFinishReason({ finishReason }: ChatResponse): LanguageModelV3FinishReason {
  return { unified: finishReason === 'tool_calls' ? 'tool-calls' : finishReason, raw: finishReason };
}

export function toLanguageModelUsage({ usage }: ChatResponse): LanguageModelV3Usage {
  return {
    inputTokens: { total: usage.promptTokens, noCache: undefined, cacheRead: undefined, cacheWrite: undefined },
    outputTokens: { total: usage.completionTokens, text: undefined, reasoning: undefined },
  };
}

/** Metadata for values that have no field in the SDK. */
export function toResultMetadata({ logprobs }: ChatResponse): SharedV3ProviderMetadata {
  return logprobs === undefined
    ? {}
    : { agentjet: { logprobs: logprobs.map(({ text, logprob }) => ({ token: text, logprob })) } };
}
