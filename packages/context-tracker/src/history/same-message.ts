import type { AssistantMessage, ChatMessage, ToolCall } from '@agentjet/core';

/** Returns whether role, text, reasoning, calls with their ids, and names are equal. */
export function isSameMessage(left: ChatMessage, right: ChatMessage): boolean {
  if (left.content !== right.content || left.role !== right.role) return false;
  if (left.role === 'system') return true;
  if (left.name !== (right as typeof left).name) return false;
  if (left.role === 'tool') return left.toolCallId === (right as typeof left).toolCallId;
  return left.role === 'user' || isSameAnswer(left, right as AssistantMessage);
}

function isSameAnswer(left: AssistantMessage, right: AssistantMessage): boolean {
  return (left.reasoning ?? '') === (right.reasoning ?? '') && isSameCalls(left.toolCalls, right.toolCalls);
}

function isSameCalls(left: readonly ToolCall[] = [], right?: readonly ToolCall[] | null): boolean {
  return left.length === (right?.length ?? 0) && left.every((call, index) => isSameCall(call, right?.[index]));
}

function isSameCall(left: ToolCall, right: ToolCall | undefined): boolean {
  return left.id === right?.id && left.name === right.name && left.arguments === right.arguments;
}

/** Copies a message without empty fields, because agents may change their message objects after a call. */
export function copyMessage<M extends ChatMessage>(message: M): M;
export function copyMessage(message: ChatMessage): ChatMessage {
  const { role, content } = message;
  if (role === 'system') return { role, content };
  const name = message.name === undefined || message.name === null ? {} : { name: message.name };
  if (role === 'user') return { role, content, ...name };
  if (role === 'tool') return { role, content, toolCallId: message.toolCallId, ...name };
  const toolCalls = (message.toolCalls ?? []).map((call) => ({
    id: call.id,
    name: call.name,
    arguments: call.arguments,
  }));
  const reasoning = message.reasoning ?? '';
  return {
    role,
    content,
    ...(reasoning === '' ? {} : { reasoning }),
    ...(toolCalls.length === 0 ? {} : { toolCalls }),
    ...name,
  };
}
