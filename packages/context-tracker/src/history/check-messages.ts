import { type ChatMessage, EngineError } from '@agentjet/core';
import { copyMessage } from './same-message.js';

const roles: ReadonlySet<unknown> = new Set(['system', 'user', 'assistant', 'tool']);

/** Throws EngineError `bad_request`. */
export function checkHasMessages(messages: readonly ChatMessage[]): void {
  if (!Array.isArray(messages) || messages.length === 0) {
    throw new EngineError('bad_request', 'The request has no messages. Send at least one, such as { role: "user", content: "..." }.');
  }
}

/** A copy of a message as frameworks of all kinds send it; absent text becomes "". Throws EngineError `bad_request`. */
export function readMessage(message: ChatMessage | undefined | null, at: number): ChatMessage {
  const { role, content }: { role?: unknown; content?: unknown } = message ?? {};
  if (!roles.has(role)) {
    throw new EngineError('bad_request', `Message ${at} has the role ${JSON.stringify(role)}. Use system, user, assistant or tool.`);
  }
  if (content !== null && content !== undefined && typeof content !== 'string') {
    const kind = Array.isArray(content) ? 'a list of parts' : `of type ${typeof content}`;
    throw new EngineError('bad_request', `The content of message ${at} (${String(role)}) is ${kind}, not a text. Join its text parts into one string.`);
  }
  return copyMessage({ ...(message as ChatMessage), content: content ?? '' });
}
