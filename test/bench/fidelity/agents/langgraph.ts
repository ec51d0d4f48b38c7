import { asModel } from '@agentjet/langgraph';
import type { BaseChatModel } from '@langchain/core/language_models/chat_models';
import { type BaseMessage, HumanMessage } from '@langchain/core/messages';
import { tool } from '@langchain/core/tools';
import { ChatOpenAI } from '@langchain/openai';
import { createAgent } from 'langchain';
import { type FidelityAgent, maxSteps, systemPrompt, toolNames } from '../agent.js';

const tools = toolNames.map((name) =>
  tool(() => `result of ${name}`, {
    name,
    description: `Tool ${name}.`,
    schema: { type: 'object', properties: {}, additionalProperties: true },
  }),
);

export const langgraphAgent: FidelityAgent<BaseChatModel> = {
  name: 'langgraph',
  native: (tuner) => asModel(tuner, { agentName: 'agent' }),
  overHttp: ({ baseUrl, apiKey, model }) =>
    new ChatOpenAI({ model, apiKey, maxRetries: 0, configuration: { baseURL: baseUrl } }),
  converse: async (model, questions, isStreamed) => {
    const agent = createAgent({ model, tools, systemPrompt });
    let messages: BaseMessage[] = [];
    for (const question of questions) {
      const input = { messages: [...messages, new HumanMessage(question)] };
      const config = { recursionLimit: 4 * maxSteps };
      if (!isStreamed) {
        ({ messages } = await agent.invoke(input, config));
        continue;
      }
      for await (const [mode, part] of await agent.stream(input, { ...config, streamMode: ['messages', 'values'] })) {
        if (mode === 'values') messages = (part as { messages: BaseMessage[] }).messages;
      }
    }
  },
};
