import type { AssistantMessage } from '@agentjet/core';

/** Returns the text of an answer, or its tool calls if it has no text. */
export function printAnswer({ content, toolCalls }: AssistantMessage): string {
  if (content.trim() !== '' || toolCalls === undefined) return content;
  return toolCalls.map(({ name, arguments: given }) => `${name}(${given})`).join('\n');
}
