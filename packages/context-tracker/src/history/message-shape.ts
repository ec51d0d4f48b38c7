import type { ChatMessage } from '@agentjet/core';

/**
 * What a chat template may look at when it decides how to print a message, as a small number: two messages of one
 * shape are assumed to be printed alike in like places. (The assumption is checked: see prompt/tail-text.ts.)
 */
export type MessageShape = number;

const roles: Readonly<Record<ChatMessage['role'], number>> = { system: 0, user: 1, tool: 2, assistant: 3 };

/** Tags by which templates find thinking, calls and tool results inside the text of a message. */
const markup = /<\/?(?:think|tool)|<\|/;

export function shapeOf(message: ChatMessage): MessageShape {
  const common = roles[message.role] | (message.content === '' ? 4 : 0) | (markup.test(message.content) ? 8 : 0) | (isNamed(message) ? 16 : 0);
  if (message.role !== 'assistant') return common;
  const calls = message.toolCalls?.length ?? 0;
  return common | (hasText(message.reasoning) ? 32 : 0) | (Math.min(calls, 2) << 6);
}

/** The shapes of many messages as one number: which roles, with which flags, and which kinds of answers. */
export function addShape(shapes: number, shape: MessageShape): number {
  const role = shape & 3;
  const flags = ((shape >> 2) & 7) << (role * 3);
  const answer = role === roles.assistant ? 1 << (12 + ((shape >> 5) & 7)) : 0;
  return shapes | (1 << (24 + role)) | flags | answer;
}

function isNamed(message: ChatMessage): boolean {
  return message.role !== 'system' && hasText(message.name);
}

function hasText(text: string | undefined): boolean {
  return text !== undefined && text !== '';
}
