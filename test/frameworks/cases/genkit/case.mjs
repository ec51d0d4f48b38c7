// #region page
import { googleAI } from '@genkit-ai/google-genai';
// #endregion
import { genkit, z } from 'genkit';

export function open({ tuner, tool }) {
  // #region page
  const { baseUrl, apiKey } = tuner.asOpenAIEndpoint({ agentName: 'solver' });
  const ai = genkit({ plugins: [googleAI({ baseUrl: baseUrl.replace(/\/v1$/, ''), apiKey })] });
  const model = googleAI.model('gemini-tuned');
  // #endregion
  const add = ai.defineTool(
    { name: tool.name, description: tool.description, inputSchema: z.object({ a: z.number(), b: z.number() }) },
    async (given) => tool.run(given),
  );
  let messages = [];
  return {
    ask: async (question, onText) => {
      const asked = { model, system: 'You solve sums.', messages, prompt: question, tools: [add] };
      let answer;
      if (onText === undefined) answer = await ai.generate(asked);
      else {
        const { stream, response } = ai.generateStream(asked);
        for await (const { text } of stream) if (text !== '') onText(text);
        answer = await response;
      }
      messages = answer.messages.filter(({ role }) => role !== 'system');
      return answer.text;
    },
  };
}
