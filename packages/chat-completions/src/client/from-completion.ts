import {
  EngineError,
  type AssistantMessage,
  type ChatFinishReason,
  type ChatResponse,
  type ToolCall,
} from '@agentjet/core';

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
  readonly choices?: readonly { readonly message?: WireMessage; readonly finish_reason?: unknown }[];
  readonly usage?: { readonly prompt_tokens?: unknown; readonly completion_tokens?: unknown };
};

const toText = (value: unknown): string => (typeof value === 'string' ? value : '');
const toCount = (value: unknown): number => (typeof value === 'number' ? value : 0);

function fromWireCall(call: WireCall, index: number): ToolCall {
  return {
    id: toText(call.id) || `call_${index}`,
    name: toText(call.function?.name),
    arguments: toText(call.function?.arguments),
  };
}

function fromWireMessage(message: WireMessage): AssistantMessage {
  const reasoning = toText(message.reasoning_content) || toText(message.reasoning);
  const toolCalls = (message.tool_calls ?? []).map(fromWireCall);
  return {
    role: 'assistant',
    content: toText(message.content),
    ...(reasoning === '' ? {} : { reasoning }),
    ...(toolCalls.length === 0 ? {} : { toolCalls }),
  };
}

function toFinishReason(reason: unknown, message: AssistantMessage): ChatFinishReason {
  if (reason === 'length') return 'length';
  return message.toolCalls === undefined ? 'stop' : 'tool_calls';
}

/** What an OpenAI-compatible server answered. Throws EngineError `failed` if the body holds no answer. */
export function fromCompletion(body: unknown, fallback: { readonly id: string; readonly model: string }): ChatResponse {
  const { id, model, choices, usage } = (typeof body === 'object' && body !== null ? body : {}) as WireBody;
  const [choice] = choices ?? [];
  if (choice?.message === undefined) {
    throw new EngineError(
      'failed',
      `The endpoint answered without choices[0].message: ${JSON.stringify(body).slice(0, 300)}`,
    );
  }
  const message = fromWireMessage(choice.message);
  return {
    id: toText(id) || fallback.id,
    model: toText(model) || fallback.model,
    message,
    finishReason: toFinishReason(choice.finish_reason, message),
    usage: { promptTokens: toCount(usage?.prompt_tokens), completionTokens: toCount(usage?.completion_tokens) },
  };
}
