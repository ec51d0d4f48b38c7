// #region page
import { asModel } from '@agentjet/ai-sdk';
import { Agent } from '@mastra/core/agent';
// #endregion
import { createTool } from '@mastra/core/tools';
import { z } from 'zod';

export function open({ tuner, tool }) {
  const add = createTool({
    id: tool.name,
    description: tool.description,
    inputSchema: z.object({ a: z.number(), b: z.number() }),
    execute: async (given) => tool.run(given),
  });
  // #region page
  const agent = new Agent({
    id: 'solver',
    name: 'solver',
    instructions: 'You solve sums.',
    model: asModel(tuner, { agentName: 'solver' }),
    tools: { add },
  });
  // #endregion
  const history = [];
  return {
    ask: async (question, onText) => {
      history.push({ role: 'user', content: question });
      const answer = onText === undefined ? await agent.generate(history) : await agent.stream(history);
      if (onText !== undefined) for await (const piece of answer.textStream) onText(piece);
      history.push(...(await answer.response).messages);
      return answer.text;
    },
  };
}
