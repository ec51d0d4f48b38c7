import type { AssistantMessage, ChatMessage, ToolCall } from '@agentjet/core';

/** Equal in everything that a message says: role, text, reasoning, calls with their ids, names. */
export function isSameMessage(left: ChatMessage, right: ChatMessage): boolean {
  if (left === right) return true;
  if (left.role !== right.role || left.content !== right.content) return false;
  if (left.role === 'system') return true;
  if (left.name !== (right as typeof left).name) return false;
  if (left.role === 'tool') return left.toolCallId === (right as typeof left).toolCallId;
  return left.role === 'user' || isSameAnswer(left, right as AssistantMessage);
}

function isSameAnswer(left: AssistantMessage, right: AssistantMessage): boolean {
  return (left.reasoning ?? '') === (right.reasoning ?? '') && isSameCalls(left.toolCalls ?? [], right.toolCalls ?? []);
}

function isSameCalls(left: readonly ToolCall[], right: readonly ToolCall[]): boolean {
  return left.length === right.length && left.every((call, index) => isSameCall(call, right[index]));
}

function isSameCall(left: ToolCall, right: ToolCall | undefined): boolean {
  return left.id === right?.id && left.name === right.name && left.arguments === right.arguments;
}
