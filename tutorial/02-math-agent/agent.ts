import type { BaseChatModel } from '@langchain/core/language_models/chat_models';
import { createAgent } from 'langchain';
import { calculator } from './calculator.js';

const systemPrompt = 'Solve the problem with the calculator. Then answer with the number alone.';

/** An agent as LangGraph users write it. It knows nothing of training. */
export async function solve(question: string, model: BaseChatModel, signal?: AbortSignal): Promise<string> {
  const agent = createAgent({ model, tools: [calculator], systemPrompt });
  const { messages } = await agent.invoke({ messages: [{ role: 'user', content: question }] }, { recursionLimit: 8, ...(signal === undefined ? {} : { signal }) });
  return messages.at(-1)?.text ?? '';
}
