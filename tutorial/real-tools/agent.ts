import type { BaseChatModel } from '@langchain/core/language_models/chat_models';
import { AIMessage, type BaseMessage, HumanMessage, ToolMessage } from '@langchain/core/messages';
import { tool } from '@langchain/core/tools';
import { createAgent } from 'langchain';
import { z } from 'zod';
import { calculate } from '../math-agent/calculator.js';
import { solvedProblems } from '../real-model/agent.js';

/** A LangGraph agent with one tool. It has no code for training. */

const systemPrompt = 'Call the calculator once. Then answer with its result, the number alone.';

const calculator = tool(({ expression }) => calculate(expression), {
  name: 'calculator',
  description: 'Computes two numbers.',
  schema: z.object({ expression: z.string() }),
});

/** One solved problem, as the messages of an earlier conversation. */
function showExample(question: string, expression: string, id: string): readonly BaseMessage[] {
  const result = calculate(expression);
  return [
    new HumanMessage(question),
    new AIMessage({ content: '', tool_calls: [{ type: 'tool_call', id, name: 'calculator', args: { expression } }] }),
    new ToolMessage({ content: result, tool_call_id: id, name: 'calculator' }),
    new AIMessage(result),
  ];
}

const examples: readonly BaseMessage[] = solvedProblems.flatMap(([question, expression], index) =>
  showExample(question, expression, `example${index}`),
);

/** The agent gives up after this many calls of its model. */
export const maxCalls = 3;

export async function solve(question: string, model: BaseChatModel, signal?: AbortSignal): Promise<string> {
  const agent = createAgent({ model, tools: [calculator], systemPrompt });
  const options = { recursionLimit: 2 * maxCalls, ...(signal !== undefined && { signal }) };
  const { messages } = await agent.invoke({ messages: [...examples, new HumanMessage(question)] }, options);
  return messages.at(-1)?.text ?? '';
}
