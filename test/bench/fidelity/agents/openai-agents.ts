import { asModel } from '@agentjet/openai-agents';
import {
  Agent,
  type AgentInputItem,
  type Model,
  OpenAIChatCompletionsModel,
  Runner,
  setTracingDisabled,
  tool,
} from '@openai/agents';
import { OpenAI } from 'openai';
import { type FidelityAgent, maxSteps, systemPrompt, toolNames } from '../agent.js';

setTracingDisabled(true);
const tools = toolNames.map((name) =>
  tool({
    name,
    description: `Tool ${name}.`,
    parameters: { type: 'object', properties: {}, required: [], additionalProperties: true },
    strict: false,
    execute: () => `result of ${name}`,
  }),
);
const runner = new Runner({ toolNotFoundBehavior: 'return_error_to_model' });

export const openaiAgentsAgent: FidelityAgent<Model> = {
  name: 'openai-agents',
  native: (tuner) => asModel(tuner, { agentName: 'agent' }),
  overHttp: ({ baseUrl, apiKey, model }) =>
    new OpenAIChatCompletionsModel(new OpenAI({ baseURL: baseUrl, apiKey, maxRetries: 0 }) as never, model),
  converse: async (model, questions, isStreamed) => {
    const agent = new Agent({ name: 'agent', instructions: systemPrompt, model, tools });
    let history: AgentInputItem[] = [];
    for (const question of questions) {
      const input: AgentInputItem[] = [...history, { role: 'user', content: question }];
      if (isStreamed) {
        const result = await runner.run(agent, input, { stream: true, maxTurns: maxSteps });
        for await (const _event of result);
        history = result.history;
      } else {
        ({ history } = await runner.run(agent, input, { maxTurns: maxSteps }));
      }
    }
  },
};
