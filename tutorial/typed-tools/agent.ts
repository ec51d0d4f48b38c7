import { generateText, type LanguageModel, stepCountIs, tool } from 'ai';
import { answerCall, descriptions, schemas } from './shop.js';

/** An agent on the AI SDK with three typed tools. It has no code for training. */

export const systemPrompt =
  'Call the one tool that answers the question. Then answer with its result alone, such as 42 or 9:30.';

const tools = {
  count_stock: tool({
    description: descriptions.count_stock,
    inputSchema: schemas.count_stock,
    execute: (input) => answerCall({ name: 'count_stock', input }),
  }),
  quote_price: tool({
    description: descriptions.quote_price,
    inputSchema: schemas.quote_price,
    execute: (input) => answerCall({ name: 'quote_price', input }),
  }),
  plan_delivery: tool({
    description: descriptions.plan_delivery,
    inputSchema: schemas.plan_delivery,
    execute: (input) => answerCall({ name: 'plan_delivery', input }),
  }),
};

/** One request for the call, and one for the answer. */
const maxRequests = 2;

export type Reply = {
  readonly calls: readonly { readonly name: string; readonly input: unknown }[];
  readonly answer: string;
};

export async function answerQuestion(question: string, model: LanguageModel, signal?: AbortSignal): Promise<Reply> {
  const { text, steps } = await generateText({
    model,
    system: systemPrompt,
    prompt: question,
    tools,
    stopWhen: stepCountIs(maxRequests),
    // A small model would call one tool after the other.
    prepareStep: ({ stepNumber }) => (stepNumber === 0 ? {} : { toolChoice: 'none' }),
    maxRetries: 0,
    ...(signal !== undefined && { abortSignal: signal }),
  });
  const calls = steps.flatMap((step) => step.toolCalls.map(({ toolName, input }) => ({ name: toolName, input })));
  return { calls, answer: text.trim() };
}
