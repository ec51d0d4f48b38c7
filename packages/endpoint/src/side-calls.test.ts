import Anthropic from '@anthropic-ai/sdk';
import type { ChatModel } from '@agentjet/core';
import { openScriptedEpisode, type ScriptedEpisodeOptions } from '@agentjet/rollout/testing';
import OpenAI from 'openai';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type EndpointServer, startEndpointServer } from './index.js';

let server: EndpointServer;

beforeAll(async () => {
  server = await startEndpointServer();
});

afterAll(() => server.close());

const messages = [{ role: 'user' as const, content: 'What is 1 + 2?' }];
const tools = [{ name: 'add', description: 'adds', input_schema: { type: 'object' as const } }];

function open(options: Partial<ScriptedEpisodeOptions> = {}, debugModel?: ChatModel) {
  const episode = openScriptedEpisode({ replies: ['Three'], endpointHost: server, ...options });
  const access = episode.tuner.asOpenAIEndpoint({ agentName: 'solver', ...(debugModel && { debugModel }) });
  const { apiKey, baseUrl } = access;
  return {
    ...episode,
    access,
    openai: new OpenAI({ baseURL: baseUrl, apiKey, maxRetries: 0 }),
    anthropic: new Anthropic({ baseURL: baseUrl.replace(/\/v1$/, ''), apiKey, maxRetries: 0 }),
  };
}

describe('count_tokens', () => {
  it('says how many tokens the prompt has, and asks the model for nothing', async () => {
    const { anthropic, engine, finish } = open();
    const request = { model: 'any', system: 'Be brief.', messages, tools };
    const { input_tokens } = await anthropic.messages.countTokens(request);
    expect(engine.requests).toHaveLength(0);
    const { usage } = await anthropic.messages.create({ ...request, max_tokens: 9 });
    expect(input_tokens).toBe(usage.input_tokens);
    expect(finish().samples).toHaveLength(1);
  });

  it('says the same of a request in the form of Chat Completions', async () => {
    const { access, engine, openai } = open();
    const request = { model: 'any', messages };
    const counted = await fetch(`${access.baseUrl}/chat/completions/count_tokens`, {
      method: 'POST',
      headers: { authorization: `Bearer ${access.apiKey}` },
      body: JSON.stringify(request),
    });
    expect(engine.requests).toHaveLength(0);
    const { usage } = await openai.chat.completions.create(request);
    expect(await counted.json()).toEqual({ input_tokens: usage?.prompt_tokens });
  });

  it('refuses what the call itself would refuse', async () => {
    const { anthropic } = open();
    const image = { type: 'image' as const, source: { type: 'url' as const, url: 'http://x/y.png' } };
    await expect(
      anthropic.messages.countTokens({ model: 'm', messages: [{ role: 'user', content: [image] }] }),
    ).rejects.toMatchObject({ status: 400, message: expect.stringContaining('image') });
  });

  it('estimates for an agent that does not learn, whose model cannot say', async () => {
    const debugModel: ChatModel = { name: 'm', generate: () => Promise.reject(new Error('not asked')) };
    const { anthropic } = open({ trainableTargets: ['other'] }, debugModel);
    const { input_tokens } = await anthropic.messages.countTokens({ model: 'm', messages });
    expect(input_tokens).toBeGreaterThan(3);
    expect(input_tokens).toBeLessThan(30);
  });
});

describe('a call that is not to be trained', () => {
  const headers = { 'x-ajet-train': 'false' };

  it.each<readonly [string, (clients: ReturnType<typeof open>) => Promise<unknown>]>([
    ['chat', ({ openai }) => openai.chat.completions.create({ model: 'm', messages }, { headers })],
    ['completions', ({ openai }) => openai.completions.create({ model: 'm', prompt: 'hi' }, { headers })],
    ['responses', ({ openai }) => openai.responses.create({ model: 'm', input: 'hi' }, { headers })],
    ['messages', ({ anthropic }) => anthropic.messages.create({ model: 'm', messages, max_tokens: 9 }, { headers })],
  ])('is marked by a header: %s', async (_api, call) => {
    const clients = open();
    expect(JSON.stringify(await call(clients))).toContain('Three');
    expect(clients.finish()).toMatchObject({ samples: [], calls: { answered: 1, untrained: 1 } });
  });

  it('is marked by the name of the model that it asks for', async () => {
    const { anthropic, finish } = open({ untrainedModels: ['*haiku*'] });
    await anthropic.messages.create({ model: 'claude-haiku-4-5', messages, max_tokens: 9 });
    await anthropic.messages.create({ model: 'claude-sonnet-4-5', messages, max_tokens: 9 });
    expect(finish()).toMatchObject({ calls: { answered: 2, untrained: 1 }, stats: { calls: 1, samples: 1 } });
  });

  it('is not what a header with another value says', async () => {
    const { openai } = open();
    const send = (value: string) =>
      openai.chat.completions.create({ model: 'm', messages }, { headers: { 'x-ajet-train': value } });
    await expect(send('no')).rejects.toMatchObject({ status: 400, message: expect.stringContaining('"no"') });
    await expect(send('true')).resolves.toBeDefined();
  });
});
