// #region page
import { asModel } from '@agentjet/google';
import { FunctionTool, Gemini, InMemoryRunner, LlmAgent, StreamingMode } from '@google/adk';
// #endregion
import { z } from 'zod';

// #region page
class TunedGemini extends Gemini {
  #client;
  constructor(client) {
    super({ model: 'gemini-tuned', apiKey: 'unused' });
    this.#client = client;
  }
  get apiClient() {
    return this.#client;
  }
}
// #endregion

export async function open({ tuner, tool }) {
  const add = new FunctionTool({
    name: tool.name,
    description: tool.description,
    parameters: z.object({ a: z.number(), b: z.number() }),
    execute: (given) => ({ sum: tool.run(given) }),
  });
  // #region page
  const agent = new LlmAgent({
    name: 'solver',
    instruction: 'You solve sums.',
    model: new TunedGemini(asModel(tuner, { agentName: 'solver' })),
    tools: [add],
  });
  // #endregion
  const runner = new InMemoryRunner({ agent, appName: 'sums' });
  const { id: sessionId } = await runner.sessionService.createSession({ appName: 'sums', userId: 'one' });
  return {
    ask: async (question, onText) => {
      const newMessage = { role: 'user', parts: [{ text: question }] };
      const runConfig = { streamingMode: onText === undefined ? StreamingMode.NONE : StreamingMode.SSE };
      let text = '';
      for await (const event of runner.runAsync({ userId: 'one', sessionId, newMessage, runConfig })) {
        const said = (event.content?.parts ?? []).map((part) => (part.thought ? '' : (part.text ?? ''))).join('');
        if (event.partial && said !== '') onText?.(said);
        if (!event.partial && said !== '') text = said;
        if (event.errorMessage) throw new Error(event.errorMessage);
      }
      return text;
    },
  };
}
