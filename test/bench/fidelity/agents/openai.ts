import { asModel } from '@agentjet/openai';
import { OpenAI } from 'openai';
import { type FidelityAgent, maxSteps, systemPrompt, toolNames } from '../agent.js';

const tools = toolNames.map(
  (name): OpenAI.ChatCompletionTool => ({
    type: 'function',
    function: { name, description: `Tool ${name}.`, parameters: { type: 'object', properties: {} } },
  }),
);

/** This is the usual hand-written loop around the SDK. It sends the model's message back unchanged. */
export const openaiAgent: FidelityAgent<OpenAI> = {
  name: 'openai',
  native: (tuner) => asModel(tuner, { agentName: 'agent' }),
  overHttp: ({ baseUrl, apiKey }) => new OpenAI({ baseURL: baseUrl, apiKey, maxRetries: 0 }),
  converse: async (client, questions, isStreamed) => {
    const messages: OpenAI.ChatCompletionMessageParam[] = [{ role: 'system', content: systemPrompt }];
    for (const question of questions) {
      messages.push({ role: 'user', content: question });
      for (let step = 0; step < maxSteps; step++) {
        const message = await ask(client, messages, isStreamed);
        messages.push(message);
        const calls = message.tool_calls ?? [];
        if (calls.length === 0) break;
        messages.push(
          ...calls.map(({ id }, at) => ({ role: 'tool' as const, tool_call_id: id, content: `result ${step}.${at}` })),
        );
      }
    }
  },
};

async function ask(
  client: OpenAI,
  messages: readonly OpenAI.ChatCompletionMessageParam[],
  isStreamed: boolean,
): Promise<OpenAI.ChatCompletionMessage> {
  const body = { model: 'tuned', messages: [...messages], tools };
  if (isStreamed) return client.chat.completions.stream(body).finalMessage();
  const { choices } = await client.chat.completions.create(body);
  if (choices[0] === undefined) throw new Error('no choice');
  return choices[0].message;
}
