import type { ChatMessage } from '@agentjet/core';
import type { TextKind } from '../contract.js';

/** Tags with which the templates of our families find thinking, calls and results inside the text of a message. */
const markup = /<\/?(?:think|tool)|<\|/;

/** Returns how the templates of Qwen, Hermes and Llama read the text of a message. */
export function findTextKind(message: ChatMessage): TextKind {
  if (isToolResponse(message)) return 'tool_result';
  return markup.test(message.content) ? 'markup' : 'plain';
}

/** An agent may send a result as a user's message in these tags. Qwen's templates then do not count it as a question. */
function isToolResponse({ role, content }: ChatMessage): boolean {
  return role === 'user' && content.startsWith('<tool_response>') && content.endsWith('</tool_response>');
}
