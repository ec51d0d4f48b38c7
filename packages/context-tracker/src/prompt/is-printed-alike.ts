import { type AssistantMessage, type ChatMessage, EngineError, type ToolSpec } from '@agentjet/core';
import type { ChatTemplate } from '@agentjet/tokenizer';

const question: ChatMessage = { role: 'user', content: 'x' };
const answer: ChatMessage = { role: 'assistant', content: 'x' };

/**
 * Whether a template prints both messages alike wherever they may stand: last, before the results of their calls, and
 * before another question, where templates leave reasoning out that stands in its own field. Templates refuse some of
 * these places; what they refuse of one they must refuse of the other, and one place before a question must be printed.
 */
export function isPrintedAlike(own: AssistantMessage, sent: AssistantMessage, template: ChatTemplate, tools: readonly ToolSpec[]): boolean {
  const print = (message: AssistantMessage, after: readonly ChatMessage[]): string | undefined => tryPrint(template, [question, message, ...resultsOf(message), ...after], tools);
  const printLast = (message: AssistantMessage): string | undefined => tryPrint(template, [question, message], tools);
  const asked = [[question], [answer, question]];
  const isAlike = (after: readonly ChatMessage[]): boolean => print(own, after) === print(sent, after);
  return printLast(own) === printLast(sent) && [[], ...asked].every(isAlike) && asked.some((after) => print(own, after) !== undefined);
}

function resultsOf({ toolCalls = [] }: AssistantMessage): readonly ChatMessage[] {
  return toolCalls.map(({ id, name }) => ({ role: 'tool', content: 'x', toolCallId: id, name }));
}

/** Undefined where the template refuses the messages. */
function tryPrint(template: ChatTemplate, messages: readonly ChatMessage[], tools: readonly ToolSpec[]): string | undefined {
  try {
    return template.render(messages, { addGenerationPrompt: false, ...(tools.length === 0 ? {} : { tools }) });
  } catch (error) {
    if (error instanceof EngineError) return undefined;
    throw error;
  }
}
