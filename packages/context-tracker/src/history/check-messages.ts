import { type ChatMessage, EngineError } from '@agentjet/core';

const roles: ReadonlySet<unknown> = new Set(['system', 'user', 'assistant', 'tool']);

/** Messages come from frameworks of all kinds. Absent text becomes "". Throws EngineError `bad_request`. */
export function checkMessages(messages: readonly ChatMessage[]): readonly ChatMessage[] {
  if (!Array.isArray(messages) || messages.length === 0) {
    throw new EngineError('bad_request', 'The request has no messages. Send at least one, such as { role: "user", content: "..." }.');
  }
  messages.forEach(checkMessage);
  return messages.some(({ content }) => typeof content !== 'string') ? messages.map(withText) : messages;
}

function checkMessage(message: ChatMessage, at: number): void {
  const { role, content }: { role: unknown; content: unknown } = message;
  if (!roles.has(role)) {
    throw new EngineError('bad_request', `Message ${at} has the role ${JSON.stringify(role)}. Use system, user, assistant or tool.`);
  }
  if (typeof content !== 'string' && content !== null && content !== undefined) {
    throw new EngineError('bad_request', `The content of message ${at} (${String(role)}) is ${Array.isArray(content) ? 'a list of parts' : `of type ${typeof content}`}, not a text. Join its text parts into one string.`);
  }
}

function withText(message: ChatMessage): ChatMessage {
  return typeof message.content === 'string' ? message : { ...(message as ChatMessage), content: '' };
}
