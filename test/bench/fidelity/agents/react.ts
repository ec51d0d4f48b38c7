import type { ChatModel } from '@agentjet/core';
import { asModel, ReActAgent, Toolkit } from '@agentjet/react';
import { type FidelityAgent, maxSteps, systemPrompt, toolNames } from '../agent.js';

const tools = toolNames.map((name) => ({
  name,
  description: `Tool ${name}.`,
  parameters: { type: 'object', properties: {} },
  execute: () => `result of ${name}`,
}));

export const reactAgent: FidelityAgent<ChatModel> = {
  name: 'react',
  native: (tuner) => asModel(tuner, { agentName: 'agent' }),
  converse: async (model, questions, isStreamed) => {
    const agent = new ReActAgent({
      name: 'agent',
      systemPrompt,
      model,
      toolkit: new Toolkit(tools),
      maxIterations: maxSteps,
      ...(isStreamed && { hooks: { onDelta: () => {} } }),
    });
    for (const content of questions) await agent.reply({ name: 'user', role: 'user', content });
  },
};
