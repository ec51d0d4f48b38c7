import { asModel } from '@agentjet/anthropic';
import { Anthropic } from '@anthropic-ai/sdk';
import { type FidelityAgent, maxSteps, systemPrompt, toolNames } from '../agent.js';

const tools = toolNames.map(
  (name): Anthropic.Tool => ({ name, description: `Tool ${name}.`, input_schema: { type: 'object', properties: {} } }),
);

/** This is the usual hand-written loop around the SDK. It sends the model's content back unchanged. */
export const anthropicAgent: FidelityAgent<Anthropic> = {
  name: 'anthropic',
  native: (tuner) => asModel(tuner, { agentName: 'agent' }),
  overHttp: ({ baseUrl, apiKey }) => new Anthropic({ baseURL: baseUrl.replace(/\/v1$/, ''), apiKey, maxRetries: 0 }),
  converse: async (client, questions, isStreamed) => {
    const messages: Anthropic.MessageParam[] = [];
    for (const question of questions) {
      messages.push({ role: 'user', content: question });
      for (let step = 0; step < maxSteps; step++) {
        const { content } = await ask(client, messages, isStreamed);
        messages.push({ role: 'assistant', content });
        const calls = content.filter((block) => block.type === 'tool_use');
        if (calls.length === 0) break;
        const results = calls.map(({ id }, at) => ({
          type: 'tool_result' as const,
          tool_use_id: id,
          content: `result ${step}.${at}`,
        }));
        messages.push({ role: 'user', content: results });
      }
    }
  },
};

async function ask(
  client: Anthropic,
  messages: readonly Anthropic.MessageParam[],
  isStreamed: boolean,
): Promise<Anthropic.Message> {
  const body = { model: 'tuned', max_tokens: 1000, system: systemPrompt, messages: [...messages], tools };
  return isStreamed ? client.messages.stream(body).finalMessage() : client.messages.create(body);
}
