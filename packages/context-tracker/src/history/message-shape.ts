import type { ChatMessage } from '@agentjet/core';
import type { ChatTemplate } from '@agentjet/tokenizer';

/**
 * A shape is a small number. It encodes the properties of a message that may decide how a chat template prints it. Two
 * messages of one shape are assumed to be printed alike in similar positions; prompt/tail-text.ts checks the
 * assumption. A template may also look for something inside the text, so its `textKind` is part of the shape.
 */
export type MessageShape = number;

const roles: Readonly<Record<ChatMessage['role'], number>> = { system: 0, user: 1, tool: 2, assistant: 3 };

export function messageShapeOf(message: ChatMessage, template: Pick<ChatTemplate, 'textKind'>): MessageShape {
  const kind = template.textKind?.(message) ?? 'plain';
  const common =
    roles[message.role] | (message.content === '' ? 4 : 0) | (kind === 'plain' ? 0 : 8) | (isNamed(message) ? 16 : 0);
  if (message.role !== 'assistant') return common | (kind === 'tool_result' ? 32 : 0);
  const calls = message.toolCalls?.length ?? 0;
  return common | (hasText(message.reasoning) ? 32 : 0) | (Math.min(calls, 2) << 6);
}

/**
 * Combines the shapes of many messages into one number. The number says which roles occur, with which flags, and which
 * kinds of answers.
 */
export function addShape(shapes: number, shape: MessageShape): number {
  const role = shape & 3;
  const flags = ((shape >> 2) & 7) << (role * 3);
  const kind = role === roles.assistant ? 1 << (12 + ((shape >> 5) & 7)) : shape & 32 ? 1 << (20 + role) : 0;
  return shapes | (1 << (24 + role)) | flags | kind;
}

/**
 * Returns whether a message of this shape counts as a question for a template that leaves out thinking before the last
 * question, as Qwen3's template does.
 */
export function isQuestion(shape: MessageShape): boolean {
  return (shape & 3) === roles.user && (shape & 32) === 0;
}

function isNamed(message: ChatMessage): boolean {
  return message.role !== 'system' && hasText(message.name);
}

function hasText(text: string | undefined): boolean {
  return text !== undefined && text !== '';
}
