import type { BaseChatModel } from '@langchain/core/language_models/chat_models';
import { tool } from '@langchain/core/tools';
import { createAgent } from 'langchain';
import { z } from 'zod';
import { calculate, calculatorDescription, maxCalls, systemPrompt } from '../calculator.js';

const calculator = tool(({ expression }) => calculate(expression), {
  name: 'calculator',
  description: calculatorDescription,
  schema: z.object({ expression: z.string() }),
});

/** An agent as LangGraph users write it. It has no code for training. */
export async function solve(question: string, model: BaseChatModel, signal?: AbortSignal): Promise<string> {
  const agent = createAgent({ model, tools: [calculator], systemPrompt });
  const options = { recursionLimit: 2 * maxCalls, ...(signal !== undefined && { signal }) };
  const { messages } = await agent.invoke({ messages: [{ role: 'user', content: question }] }, options);
  return messages.at(-1)?.text ?? '';
}
