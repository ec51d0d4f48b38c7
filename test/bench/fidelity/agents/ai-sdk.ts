import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { asModel } from '@agentjet/ai-sdk';
import { generateText, type LanguageModel, type ModelMessage, stepCountIs, streamText, tool, type ToolSet } from 'ai';
import { z } from 'zod';
import { type FidelityAgent, maxSteps, systemPrompt, toolNames } from '../agent.js';

/** A zod schema as most people write it. It drops the keys that it does not list. */
const inputSchema = z.object({ a: z.unknown(), b: z.unknown() }).partial();
const tools: ToolSet = Object.fromEntries(
  toolNames.map((name) => [
    name,
    tool({ description: `Tool ${name}.`, inputSchema, execute: () => `result of ${name}` }),
  ]),
);

export const aiSdkAgent: FidelityAgent<LanguageModel> = {
  name: 'ai-sdk',
  native: (tuner) => asModel(tuner, { agentName: 'agent' }),
  overHttp: ({ baseUrl, apiKey, model }) =>
    createOpenAICompatible({ name: 'agentjet', baseURL: baseUrl, apiKey })(model),
  converse: async (model, questions, isStreamed) => {
    const messages: ModelMessage[] = [];
    for (const question of questions) {
      messages.push({ role: 'user', content: question });
      const settings = {
        model,
        system: systemPrompt,
        messages: [...messages],
        tools,
        stopWhen: stepCountIs(maxSteps),
        maxRetries: 0,
      };
      const result = isStreamed
        ? streamText({
            ...settings,
            onError: ({ error }) => {
              throw error;
            },
          })
        : await generateText(settings);
      if ('consumeStream' in result) await result.consumeStream();
      messages.push(...(await allMessages(result)));
    }
  },
};

type Messages = readonly ModelMessage[];

/**
 * Returns the messages of all steps. In ai 7 they have another name, because its `response` has only the messages of
 * the last step.
 */
async function allMessages(result: {
  readonly response: PromiseLike<{ readonly messages: Messages }> | { readonly messages: Messages };
  readonly responseMessages?: PromiseLike<Messages> | Messages;
}): Promise<Messages> {
  return result.responseMessages ?? (await result.response).messages;
}
