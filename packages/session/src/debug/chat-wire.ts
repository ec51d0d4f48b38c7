import {
  EngineError,
  type AssistantMessage,
  type ChatFinishReason,
  type ChatMessage,
  type ChatRequest,
  type ChatResponse,
  type ToolCall,
} from '@agentjet/core';

/** What crosses the wire to an OpenAI-compatible `/chat/completions`, and back. */

function toWireMessage(message: ChatMessage): Record<string, unknown> {
  switch (message.role) {
    case 'tool':
      return { role: 'tool', content: message.content, tool_call_id: message.toolCallId };
    case 'assistant':
      return {
        role: 'assistant',
        content: message.content,
        ...(message.reasoning === undefined ? {} : { reasoning_content: message.reasoning }),
        ...(message.toolCalls?.length ? { tool_calls: message.toolCalls.map(toWireCall) } : {}),
      };
    default:
      return { role: message.role, content: message.content };
  }
}

function toWireCall(call: ToolCall): Record<string, unknown> {
  return { id: call.id, type: 'function', function: { name: call.name, arguments: call.arguments } };
}

function toWireChoice(choice: ChatRequest['toolChoice']): unknown {
  return typeof choice === 'object' ? { type: 'function', function: { name: choice.name } } : choice;
}

function toWireFormat(format: ChatRequest['responseFormat']): unknown {
  return format?.type === 'json_schema'
    ? { type: 'json_schema', json_schema: { name: format.name, schema: format.schema } }
    : format;
}

/** Fields that are not asked for are left out (JSON drops undefined). */
export function toWireRequest(request: ChatRequest, model: string): Record<string, unknown> {
  const { temperature, topP, topK, maxTokens, stop, seed } = request.sampling ?? {};
  return {
    model,
    messages: request.messages.map(toWireMessage),
    tools: request.tools?.length ? request.tools.map((tool) => ({ type: 'function', function: tool })) : undefined,
    tool_choice: toWireChoice(request.toolChoice),
    response_format: toWireFormat(request.responseFormat),
    temperature,
    top_p: topP,
    top_k: topK !== undefined && topK > 0 ? topK : undefined,
    max_tokens: maxTokens,
    stop,
    seed,
  };
}

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

/** Throws EngineError `failed` when the body holds no answer. */
export function fromWireResponse(
  body: unknown,
  fallback: { readonly id: string; readonly model: string },
): ChatResponse {
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
