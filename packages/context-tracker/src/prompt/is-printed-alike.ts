import { type AssistantMessage, type ChatMessage, EngineError, type ToolSpec } from '@agentjet/core';
import type { ChatTemplate } from '@agentjet/tokenizer';

const question: ChatMessage = { role: 'user', content: 'x' };
const answer: ChatMessage = { role: 'assistant', content: 'x' };

/**
 * Returns whether a template prints both messages alike in every position: as the last message, before the results of
 * its calls, and before another question. The last position matters because templates leave out the separate reasoning
 * of earlier answers. A template may refuse a position if it refuses both messages there. It must accept the messages
 * if a question follows, either directly or after another answer.
 */
export function isPrintedAlike(
  own: AssistantMessage,
  sent: AssistantMessage,
  template: ChatTemplate,
  tools: readonly ToolSpec[],
): boolean {
  const print = (message: AssistantMessage, after: readonly ChatMessage[]): string | undefined =>
    tryPrint(template, [question, message, ...after], tools);
  const printBefore = (message: AssistantMessage, after: readonly ChatMessage[]): string | undefined =>
    print(message, [...resultsOf(message), ...after]);
  if (print(own, []) !== print(sent, []) || printBefore(own, []) !== printBefore(sent, [])) return false;
  const asked = [[question], [answer, question]].map((after) => ({ after, text: printBefore(own, after) }));
  return (
    asked.every(({ after, text }) => text === printBefore(sent, after)) && asked.some(({ text }) => text !== undefined)
  );
}

function resultsOf({ toolCalls = [] }: AssistantMessage): readonly ChatMessage[] {
  return toolCalls.map(({ id, name }) => ({ role: 'tool', content: 'x', toolCallId: id, name }));
}

/** Returns undefined if the template refuses the messages. */
function tryPrint(
  template: ChatTemplate,
  messages: readonly ChatMessage[],
  tools: readonly ToolSpec[],
): string | undefined {
  try {
    return template.render(messages, { addGenerationPrompt: false, ...(tools.length === 0 ? {} : { tools }) });
  } catch (error) {
    if (error instanceof EngineError) return undefined;
    throw error;
  }
}
