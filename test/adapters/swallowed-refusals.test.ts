import { asModel as asAiSdkModel } from '@agentjet/ai-sdk';
import { type EndpointServer, startEndpointServer } from '@agentjet/endpoint';
import { asModel as asGoogle } from '@agentjet/google';
import { asModel as asLangChainModel } from '@agentjet/langgraph';
import { asModel as asAnthropic } from '@agentjet/anthropic';
import { asModel as asOpenAI } from '@agentjet/openai';
import { asModel as asAgentsModel } from '@agentjet/openai-agents';
import { runEpisode, type Tuner } from '@agentjet/rollout';
import { createScriptedEngine } from '@agentjet/rollout/testing';
import { createChatTokenizer } from '@agentjet/tokenizer';
import { createChatTokenizerFiles } from '@agentjet/tokenizer/testing';
import { afterAll, beforeAll, expect, it } from 'vitest';

/**
 * A tool asks a model for something that is refused before the model is asked, and its framework swallows the error.
 */

let server: EndpointServer;

beforeAll(async () => {
  server = await startEndpointServer();
});

afterAll(() => server.close());

const named = { agentName: 'helper' };
const user = { role: 'user' as const, content: 'hi' };

const post = async (tuner: Tuner, path: string, body: object): Promise<void> => {
  const { baseUrl, apiKey } = tuner.asOpenAIEndpoint(named);
  const answer = await fetch(`${baseUrl}/${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${apiKey}` },
    body: JSON.stringify(body),
  });
  if (!answer.ok) throw new Error(await answer.text());
};

const refused: Readonly<Record<string, (tuner: Tuner) => Promise<unknown>>> = {
  langgraph: (tuner) => asLangChainModel(tuner, named).invoke('hi', { nonsense: 1 } as object),
  'ai-sdk': async (tuner) =>
    asAiSdkModel(tuner, named).doGenerate({
      prompt: [{ role: 'user', content: [{ type: 'text', text: 'hi' }] }],
      presencePenalty: 1,
    }),
  'openai-agents': async (tuner) =>
    asAgentsModel(tuner, named).getResponse({
      input: 'hi',
      modelSettings: { presencePenalty: 1 },
      tools: [],
      outputType: 'text',
      handoffs: [],
      tracing: false,
    }),
  openai: async (tuner) =>
    asOpenAI(tuner, named).chat.completions.create({ model: 'm', messages: [user], presence_penalty: 1 }),
  anthropic: async (tuner) =>
    asAnthropic(tuner, named).messages.create({ model: 'm', max_tokens: 5, messages: [user], nonsense: 1 } as never),
  google: async (tuner) =>
    asGoogle(tuner, named).models.generateContent({
      model: 'm',
      contents: 'hi',
      config: { presencePenalty: 1 },
    }),
  'gemini over HTTP': (tuner) =>
    post(tuner, '../v1beta/models/m:generateContent', { contents: [{ parts: [{ text: 'hi' }] }], nonsense: 1 }),
  'chat over HTTP': (tuner) => post(tuner, 'chat/completions', { model: 'm', messages: [user], nonsense: 1 }),
  'content over HTTP': (tuner) =>
    post(tuner, 'chat/completions', {
      model: 'm',
      messages: [{ role: 'user', content: [{ type: 'image_url', image_url: { url: 'x' } }] }],
    }),
  'messages over HTTP': (tuner) => post(tuner, 'messages', { model: 'm', messages: [user] }),
  'responses over HTTP': (tuner) => post(tuner, 'responses', { model: 'm', input: 'hi', truncation: 'auto' }),
};

it.each(Object.entries(refused))('%s: a refusal that is swallowed is counted once, by agent', async (_name, ask) => {
  const chatTokenizer = createChatTokenizer(createChatTokenizerFiles('qwen3'));
  const engine = createScriptedEngine({ chatTokenizer, replies: ['hello'] });
  const messages: string[] = [];
  const episode = await runEpisode(
    { taskId: 't', mainQuery: 'hi', initMessages: [], metadata: {} },
    {
      workflow: async (_task, tuner) => {
        await ask(tuner).catch((error: unknown) => messages.push(String(error)));
        return { reward: 1 };
      },
      policy: { kind: 'engine', engine, chatTokenizer },
      sampling: { temperature: 1, topP: 1, topK: 0, maxTokens: 100 },
      timeoutMs: 30_000,
      endpointHost: server,
    },
    { episodeId: 'e', repeatIndex: 0, seed: 1 },
  );
  expect(messages).toHaveLength(1);
  expect(episode).toMatchObject({ status: 'completed', calls: { answered: 0, failed: 1 } });
  expect(episode.swallowedErrors).toEqual([
    { agentName: 'helper', code: expect.any(String), message: expect.any(String), times: 1 },
  ]);
});
