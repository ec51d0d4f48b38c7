import type { ChatMessage } from '@agentjet/core';
import type { TextKind } from '../contract.js';

/** Tags with which the templates of our families find thinking, calls and results inside the text of a message. */
const markup = /<\/?(?:think|tool)|<\|/;

/** Returns the kind of a message's text for the templates of Qwen, Hermes and Llama. */
export function findTextKind(message: ChatMessage): TextKind {
  if (isToolResponse(message)) return 'tool_result';
  return markup.test(message.content) ? 'markup' : 'plain';
}

/**
 * Returns whether a user's message is a tool result in these tags, as some agents send it. Qwen's templates do not
 * count such a message as a question.
 */
function isToolResponse({ role, content }: ChatMessage): boolean {
  return role === 'user' && content.startsWith('<tool_response>') && content.endsWith('</tool_response>');
}
