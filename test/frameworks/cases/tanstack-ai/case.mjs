// #region page
import { openaiCompatibleText } from '@tanstack/ai-openai/compatible';
// #endregion
import { chat, toolDefinition } from '@tanstack/ai';
import { z } from 'zod';

export function open({ tuner, tool }) {
  const { name, description } = tool;
  const add = toolDefinition({ name, description, inputSchema: z.object({ a: z.number(), b: z.number() }) }).server(
    tool.run,
  );
  // #region page
  const { baseUrl, apiKey, model } = tuner.asOpenAIEndpoint({ agentName: 'solver' });
  const adapter = openaiCompatibleText(model, { baseURL: baseUrl, apiKey });
  const ask = (messages, options) =>
    chat({ adapter, systemPrompts: ['You solve sums.'], messages, tools: [add], ...options });
  // #endregion
  let history = [];
  const keep = { name: 'keep', onFinish: ({ messages }) => void (history = [...messages]) };
  return {
    ask: async (question, onText) => {
      history.push({ role: 'user', content: question });
      const options = { middleware: [keep], stream: onText !== undefined };
      let text = '';
      if (onText === undefined) text = await ask(history, options);
      else
        for await (const event of ask(history, options)) {
          if (event.type !== 'TEXT_MESSAGE_CONTENT') continue;
          onText(event.delta);
          text += event.delta;
        }
      return text;
    },
  };
}
