// #region page
import { asModel } from '@agentjet/langgraph';
import { createDeepAgent } from 'deepagents';
// #endregion
import { tool as createTool } from 'langchain';
import { z } from 'zod';
import { createAsk } from './langgraph.mjs';

export function open({ tuner, tool }) {
  const { name, description } = tool;
  const add = createTool(tool.run, { name, description, schema: z.object({ a: z.number(), b: z.number() }) });
  // #region page
  const agent = createDeepAgent({
    model: asModel(tuner, { agentName: 'solver' }),
    tools: [add],
    systemPrompt: 'You solve sums.',
  });
  // #endregion
  return { ask: createAsk(agent) };
}
