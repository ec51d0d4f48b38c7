// #region page
import { Agent } from '@earendil-works/pi-agent-core';
import { createModels, createProvider } from '@earendil-works/pi-ai';
import { openAICompletionsApi } from '@earendil-works/pi-ai/api/openai-completions.lazy';
// #endregion

export function open({ tuner, tool }) {
  const add = {
    name: tool.name,
    label: 'Add',
    description: tool.description,
    parameters: tool.parameters,
    execute: async (_id, given) => ({ content: [{ type: 'text', text: tool.run(given) }], details: {} }),
  };
  // #region page
  const { baseUrl, apiKey, model: id } = tuner.asOpenAIEndpoint({ agentName: 'solver' });
  const cost = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 };
  const provider = createProvider({
    id: 'ajet',
    name: 'ajet',
    baseUrl,
    auth: { apiKey: { name: 'ajet', resolve: async () => ({ auth: { apiKey } }) } },
    models: [
      {
        id,
        name: id,
        api: 'openai-completions',
        provider: 'ajet',
        baseUrl,
        cost,
        reasoning: false,
        input: ['text'],
        contextWindow: 128_000,
        maxTokens: 4_000,
      },
    ],
    api: openAICompletionsApi(),
  });
  const models = createModels();
  models.setProvider(provider);
  const agent = new Agent({
    initialState: { systemPrompt: 'You solve sums.', model: models.getModel('ajet', id), tools: [add] },
    streamFn: models.streamSimple.bind(models),
  });
  // #endregion
  return {
    ask: async (question, onText) => {
      const unsubscribe = agent.subscribe((event) => {
        const update = event.type === 'message_update' ? event.assistantMessageEvent : undefined;
        if (update?.type === 'text_delta') onText?.(update.delta);
      });
      await agent.prompt(question);
      unsubscribe();
      const { errorMessage, messages } = agent.state;
      if (errorMessage !== undefined) throw new Error(errorMessage);
      return messages
        .at(-1)
        .content.map((part) => part.text ?? '')
        .join('');
    },
  };
}
