// #region page
import { asModel } from '@agentjet/ai-sdk';
import { Agent, createTool } from '@voltagent/core';
// #endregion
import { z } from 'zod';

export function open({ tuner, tool }) {
  const add = createTool({
    name: tool.name,
    description: tool.description,
    parameters: z.object({ a: z.number(), b: z.number() }),
    execute: async (given) => tool.run(given),
  });
  // #region page
  const agent = new Agent({
    name: 'solver',
    instructions: 'You solve sums.',
    model: asModel(tuner, { agentName: 'solver' }),
    tools: [add],
  });
  // #endregion
  const conversation = { userId: 'one', conversationId: `${tuner.episodeId}` };
  return {
    ask: async (question, onText) => {
      if (onText === undefined) return (await agent.generateText(question, conversation)).text;
      const answer = await agent.streamText(question, conversation);
      for await (const piece of answer.textStream) onText(piece);
      return await answer.text;
    },
  };
}

/** Its memory writes the result of a tool in another way, so the second question begins a new row. */
export const rows = 2;
export const forks = { solver: { rewritten: 1 } };
