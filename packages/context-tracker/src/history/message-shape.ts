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
  const common =
    roles[message.role] |
    (message.content === '' ? 4 : 0) |
    (markup.test(message.content) ? 8 : 0) |
    (isNamed(message) ? 16 : 0);
  if (message.role !== 'assistant') return common | (isToolResponse(message) ? 32 : 0);
  const calls = message.toolCalls?.length ?? 0;
  return common | (hasText(message.reasoning) ? 32 : 0) | (Math.min(calls, 2) << 6);
}

/** The shapes of many messages as one number: which roles, with which flags, and which kinds of answers. */
export function addShape(shapes: number, shape: MessageShape): number {
  const role = shape & 3;
  const flags = ((shape >> 2) & 7) << (role * 3);
  const kind = role === roles.assistant ? 1 << (12 + ((shape >> 5) & 7)) : shape & 32 ? 1 << (20 + role) : 0;
  return shapes | (1 << (24 + role)) | flags | kind;
}

/** Whether messages of this shape are questions to a template that leaves thinking out before the last of them (Qwen3's). */
export function isQuestion(shape: MessageShape): boolean {
  return (shape & 3) === roles.user && (shape & 32) === 0;
}

/** A result that an agent sends as a user message, in the tags by which templates know that it is none of the user's. */
function isToolResponse({ role, content }: ChatMessage): boolean {
  return role === 'user' && content.startsWith('<tool_response>') && content.endsWith('</tool_response>');
}

function isNamed(message: ChatMessage): boolean {
  return message.role !== 'system' && hasText(message.name);
}

function hasText(text: string | undefined): boolean {
  return text !== undefined && text !== '';
}
