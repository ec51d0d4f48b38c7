import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { Agent, routeAgentRequest } from 'agents';
import { generateText, stepCountIs, streamText, tool } from 'ai';
import { z } from 'zod';

// #region page
export class Solver extends Agent {
  async onRequest(request) {
    const { question, isStreamed, endpoint, sums } = await request.json();
    const provider = createOpenAICompatible({ name: 'ajet', baseURL: endpoint.baseUrl, apiKey: endpoint.apiKey });
    const model = provider(endpoint.model);
    // #endregion
    const messages = [...(this.state?.messages ?? []), { role: 'user', content: question }];
    const keep = ({ response, responseMessages = response.messages }) =>
      this.setState({ messages: [...messages, ...responseMessages] });
    const asked = {
      model,
      system: 'You solve sums.',
      messages,
      tools: { add: createAdd(sums) },
      stopWhen: stepCountIs(5),
    };
    if (isStreamed) return streamText({ ...asked, onFinish: keep }).toTextStreamResponse();
    const answer = await generateText(asked);
    keep(answer);
    return new Response(answer.text);
  }
}

const createAdd = (port) =>
  tool({
    description: 'Adds two numbers.',
    inputSchema: z.object({ a: z.number(), b: z.number() }),
    execute: async (given) => {
      const response = await fetch(`http://127.0.0.1:${port}/`, { method: 'POST', body: JSON.stringify(given) });
      return await response.text();
    },
  });

export default {
  fetch: async (request, env) => (await routeAgentRequest(request, env)) ?? new Response('not found', { status: 404 }),
};
