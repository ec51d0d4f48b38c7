import type { ChatMessage, ChatRequest, ToolCall } from '@agentjet/core';

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
    case 'user':
      return { role: 'user', content: message.content, name: message.name };
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
    ? {
        type: 'json_schema',
        json_schema: { name: format.name, description: format.description, schema: format.schema },
      }
    : format;
}

/**
 * Creates the body of a call to an OpenAI-compatible `/chat/completions`. Options that are not set are undefined, which
 * JSON leaves out.
 */
export function toRequestBody(request: ChatRequest, model: string): Record<string, unknown> {
  const { temperature, topP, topK, maxTokens, stop, seed } = request.sampling ?? {};
  return {
    model,
    messages: request.messages.map(toWireMessage),
    tools: request.tools?.length ? request.tools.map((tool) => ({ type: 'function', function: tool })) : undefined,
    tool_choice: toWireChoice(request.toolChoice),
    parallel_tool_calls: request.parallelToolCalls === false ? false : undefined,
    response_format: toWireFormat(request.responseFormat),
    temperature,
    top_p: topP,
    top_k: topK !== undefined && topK > 0 ? topK : undefined,
    max_tokens: maxTokens,
    stop,
    seed,
    chat_template_kwargs: request.chatTemplateKwargs,
    reasoning_effort: request.thinkingOff === undefined ? undefined : 'none',
  };
}
