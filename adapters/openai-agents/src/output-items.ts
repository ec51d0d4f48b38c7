import type { ChatResponse } from '@agentjet/core';
import { keptTurnKey } from '@agentjet/rollout';
import type { AssistantMessageItem, FunctionCallItem, ReasoningItem } from '@openai/agents';

type OutputItem = AssistantMessageItem | FunctionCallItem | ReasoningItem;

export function toAgentItems(response: ChatResponse): OutputItem[] {
  const { content, reasoning, toolCalls = [] } = response.message;
  const providerData = { [keptTurnKey]: { turn: response.id, message: structuredClone(response.message) } };
  const thinking: OutputItem = {
    type: 'reasoning',
    content: [],
    rawContent: [{ type: 'reasoning_text', text: reasoning ?? '' }],
    providerData,
  };
  const status = response.finishReason === 'length' ? 'incomplete' : 'completed';
  const text: OutputItem = {
    type: 'message',
    id: response.id,
    role: 'assistant',
    status,
    content: [{ type: 'output_text', text: content }],
    providerData,
  };
  const calls = toolCalls.map(
    (call): OutputItem => ({
      type: 'function_call',
      callId: call.id,
      name: call.name,
      arguments: call.arguments,
      status: 'completed',
      providerData,
    }),
  );
  const hasText = content !== '' || toolCalls.length === 0;
  return [...(reasoning === undefined || reasoning === '' ? [] : [thinking]), ...(hasText ? [text] : []), ...calls];
}

/** Data for values that have no field in the SDK. */
export function toProviderData({ finishReason, logprobs, model }: ChatResponse): Record<string, unknown> {
  return {
    model,
    finishReason,
    ...(logprobs !== undefined && { logprobs: logprobs.map(({ text, logprob }) => ({ token: text, logprob })) }),
  };
}

export function toAgentsUsage({ usage }: ChatResponse): {
  requests: number;
  inputTokens: number;
  outputTokens: number;
  totalTokens: number;
} {
  return {
    requests: 1,
    inputTokens: usage.promptTokens,
    outputTokens: usage.completionTokens,
    totalTokens: usage.promptTokens + usage.completionTokens,
  };
}
