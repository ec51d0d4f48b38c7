// #region page
import { approveAll, CopilotClient, defineTool } from '@github/copilot-sdk';
// #endregion
import path from 'node:path';

export async function open({ tuner, tool }) {
  const add = defineTool(tool.name, {
    description: tool.description,
    parameters: tool.parameters,
    handler: async (given) => tool.run(given),
    defer: 'never',
  });
  const baseDirectory = path.resolve('copilot', tuner.episodeId);
  // #region page
  const { baseUrl, apiKey, model } = tuner.asOpenAIEndpoint({ agentName: 'solver' });
  const client = new CopilotClient({ baseDirectory, useLoggedInUser: false });
  await client.start();
  const session = await client.createSession({
    model,
    provider: { type: 'openai', baseUrl, apiKey },
    tools: [add],
    availableTools: ['add'],
    streaming: true,
    onPermissionRequest: approveAll,
  });
  // #endregion
  return {
    ask: async (question, onText) => {
      const unsubscribe = session.on('assistant.message_delta', ({ data }) => {
        if (onText !== undefined && data.deltaContent) onText(data.deltaContent);
      });
      const event = await session.sendAndWait({ prompt: question }, 60_000);
      unsubscribe();
      return event?.data.content;
    },
    close: async () => {
      await session.disconnect();
      await client.stop();
    },
  };
}
