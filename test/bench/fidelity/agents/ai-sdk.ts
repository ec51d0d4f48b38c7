import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import type { LanguageModelV3 } from '@ai-sdk/provider';
import { asModel } from '@agentjet/ai-sdk';
import { generateText, type ModelMessage, stepCountIs, streamText, tool, type ToolSet } from 'ai';
import { z } from 'zod';
import { type FidelityAgent, maxSteps, systemPrompt, toolNames } from '../agent.js';

/** A schema of zod's, as most people write it: it drops the keys that it does not know. */
const inputSchema = z.object({ a: z.unknown(), b: z.unknown() }).partial();
const tools: ToolSet = Object.fromEntries(toolNames.map((name) => [name, tool({ description: `Tool ${name}.`, inputSchema, execute: () => `result of ${name}` })]));

export const aiSdkAgent: FidelityAgent<LanguageModelV3> = {
  name: 'ai-sdk',
  native: (tuner) => asModel(tuner, { agentName: 'agent' }),
  overHttp: ({ baseUrl, apiKey, model }) => createOpenAICompatible({ name: 'agentjet', baseURL: baseUrl, apiKey })(model),
  converse: async (model, questions, isStreamed) => {
    const messages: ModelMessage[] = [];
    for (const question of questions) {
      messages.push({ role: 'user', content: question });
      const settings = { model, system: systemPrompt, messages: [...messages], tools, stopWhen: stepCountIs(maxSteps), maxRetries: 0 };
      const { response } = isStreamed ? await consume(streamText({ ...settings, onError: ({ error }) => { throw error; } })) : await generateText(settings);
      messages.push(...response.messages);
    }
  },
};

async function consume(result: ReturnType<typeof streamText>): Promise<{ readonly response: { readonly messages: readonly ModelMessage[] } }> {
  await result.consumeStream();
  return { response: await result.response };
}
