// #region page
import { createSdkMcpServer, query, tool as createTool } from '@anthropic-ai/claude-agent-sdk';
// #endregion
import path from 'node:path';
import { z } from 'zod';
import { callText, replyWith } from './check.mjs';

export function open({ tuner, tool }) {
  const add = createTool(tool.name, tool.description, { a: z.number(), b: z.number() }, async (given) => ({
    content: [{ type: 'text', text: tool.run(given) }],
  }));
  const home = path.resolve('claude', tuner.episodeId);
  const { PATH, HOME } = process.env;
  // #region page
  const { baseUrl, apiKey, model } = tuner.asOpenAIEndpoint({ agentName: 'solver' });
  const options = {
    model,
    env: {
      PATH,
      HOME,
      CLAUDE_CONFIG_DIR: home,
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
      ANTHROPIC_BASE_URL: baseUrl.replace(/\/v1$/, ''),
      ANTHROPIC_API_KEY: apiKey,
      ANTHROPIC_DEFAULT_HAIKU_MODEL: `${model}:untrained`,
    },
    systemPrompt: 'You solve sums.',
    mcpServers: { sums: createSdkMcpServer({ name: 'sums', tools: [add], alwaysLoad: true }) },
    tools: [],
    allowedTools: ['mcp__sums__add'],
    settingSources: [],
  };
  // #endregion
  let resume;
  return {
    ask: async (question, onText) => {
      const asked = { ...options, resume, includePartialMessages: onText !== undefined };
      let result;
      for await (const message of query({ prompt: question, options: asked })) {
        const delta = message.type === 'stream_event' ? message.event.delta : undefined;
        if (delta?.type === 'text_delta') onText(delta.text);
        if (message.type === 'result') result = message;
      }
      resume = result.session_id;
      return result.result;
    },
  };
}

export const reply = replyWith([
  callText('mcp__sums__add', '{"b": 3,  "a":2.0}'),
  `<think>\nFive and four.\n</think>\n\n${callText('mcp__sums__add', '{"a":5, "b":  4}')}`,
]);
