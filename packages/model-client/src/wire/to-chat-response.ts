import {
  type AssistantMessage,
  type ChatFinishReason,
  type ChatResponse,
  type ToolCall,
  textOrEmpty,
} from '@agentjet/core';

/** What is wrong with an answer. */
export type Mistake = { readonly mistake: string };

type WireCall = {
  readonly id?: unknown;
  readonly function?: { readonly name?: unknown; readonly arguments?: unknown };
};
type WireMessage = {
  readonly content?: unknown;
  readonly reasoning_content?: unknown;
  readonly reasoning?: unknown;
  readonly tool_calls?: readonly WireCall[] | null;
};
type WireBody = {
  readonly id?: unknown;
  readonly model?: unknown;
  readonly choices?: readonly { readonly message?: WireMessage | null; readonly finish_reason?: unknown }[];
  readonly usage?: { readonly prompt_tokens?: unknown; readonly completion_tokens?: unknown } | null;
};

/** 0 if the server does not report it. */
const toCount = (value: unknown): number =>
  typeof value === 'number' && value >= 0 && Number.isFinite(value) ? value : 0;

function fromWireCall(call: WireCall, index: number): ToolCall {
  return {
    id: textOrEmpty(call.id) || `call_${index}`,
    name: textOrEmpty(call.function?.name),
    arguments: textOrEmpty(call.function?.arguments),
  };
}

function fromWireMessage(message: WireMessage): AssistantMessage {
  const reasoning = textOrEmpty(message.reasoning_content) || textOrEmpty(message.reasoning);
  const toolCalls = (message.tool_calls ?? []).map(fromWireCall);
  return {
    role: 'assistant',
    content: textOrEmpty(message.content),
    ...(reasoning === '' ? {} : { reasoning }),
    ...(toolCalls.length === 0 ? {} : { toolCalls }),
  };
}

function toFinishReason(reason: unknown, message: AssistantMessage): ChatFinishReason {
  if (reason === 'length') return 'length';
  return message.toolCalls === undefined ? 'stop' : 'tool_calls';
}

/** Converts the answer of an OpenAI-compatible server. */
export function toChatResponse(
  body: unknown,
  fallback: { readonly id: string; readonly model: string },
): ChatResponse | Mistake {
  const { id, model, choices, usage } = (typeof body === 'object' && body !== null ? body : {}) as WireBody;
  const given = Array.isArray(choices) ? choices[0]?.message : undefined;
  if (typeof given !== 'object' || given === null) return { mistake: 'An answer without choices[0].message' };
  const message = fromWireMessage(given);
  return {
    id: textOrEmpty(id) || fallback.id,
    model: textOrEmpty(model) || fallback.model,
    message,
    finishReason: toFinishReason(choices?.[0]?.finish_reason, message),
    usage: { promptTokens: toCount(usage?.prompt_tokens), completionTokens: toCount(usage?.completion_tokens) },
  };
}

/**
 * Whether the answer in a body has text, which may be empty. A refusal has no text, and neither has an answer whose
 * thinking was cut off.
 */
export function hasText(body: unknown): boolean {
  return typeof ((body ?? {}) as WireBody).choices?.[0]?.message?.content === 'string';
}
