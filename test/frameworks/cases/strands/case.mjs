// #region page
import { asModel } from '@agentjet/openai';
import { OpenAIModel } from '@strands-agents/sdk/models/openai';
// #endregion
import { Agent, tool as createTool } from '@strands-agents/sdk';
import { z } from 'zod';

export function open({ tuner, tool }) {
  const add = createTool({
    name: tool.name,
    description: tool.description,
    inputSchema: z.object({ a: z.number(), b: z.number() }),
    callback: tool.run,
  });
  // #region page
  const client = asModel(tuner, { agentName: 'solver' });
  const agent = new Agent({
    model: new OpenAIModel({ api: 'chat', client }),
    systemPrompt: 'You solve sums.',
    tools: [add],
    printer: false,
  });
  // #endregion
  return {
    ask: async (question, onText) => {
      if (onText === undefined) return String(await agent.invoke(question));
      const stream = agent.stream(question);
      for (;;) {
        const { done, value } = await stream.next();
        if (done) return String(value);
        const { delta } = value.type === 'modelStreamUpdateEvent' ? value.event : {};
        if (delta?.type === 'textDelta') onText(delta.text);
      }
    },
  };
}
