import Anthropic from '@anthropic-ai/sdk';
import type { ChatModel, ChatRequest } from '@agentjet/core';
import { startEndpointServer, type EndpointServer } from '@agentjet/endpoint';
import { openScriptedEpisode, type ScriptedEpisodeOptions, type ScriptedReply } from '@agentjet/rollout/testing';
import { OpenAI } from 'openai';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openCuttingProxy } from './cutting-proxy.js';

let server: EndpointServer;

beforeAll(async () => {
  server = await startEndpointServer({ graceMs: 100, heartbeatMs: 50 });
});

afterAll(() => server.close());

function open(replies: readonly ScriptedReply[], options: Partial<ScriptedEpisodeOptions> = {}) {
  const episode = openScriptedEpisode({ replies, endpointHost: server, ...options });
  const access = episode.tuner.asOpenAIEndpoint({ agentName: 'solver' });
  return { episode, access, openai: new OpenAI({ baseURL: access.baseUrl, apiKey: access.apiKey, maxRetries: 0 }) };
}

const ask = { model: 'm', messages: [{ role: 'user' as const, content: 'hi' }] };
const slow: ScriptedReply = { text: 'a slow answer that nobody reads to its end '.repeat(20), tokenDelayMs: 10 };

describe('a connection that closes', () => {
  it.each([
    ['before the headers', false, 20],
    ['while the answer is waited for', false, 150],
    ['in the middle of a stream', true, 50],
  ])('%s frees the slot and leaves no sample', async (_when, stream, afterMs) => {
    const { openai, episode } = open([slow]);
    const client = new AbortController();
    void expect
      .poll(() => episode.engine.numRunning, { interval: 5 })
      .toBe(1)
      .then(() => setTimeout(() => client.abort(), afterMs));
    const read = async () => {
      const answer = await openai.chat.completions.create({ ...ask, stream }, { signal: client.signal });
      if (Symbol.asyncIterator in answer) for await (const _chunk of answer);
    };
    await read().catch(() => undefined);
    await expect.poll(() => episode.engine.requests.map(({ outcome }) => outcome)).toEqual(['aborted']);
    expect(episode.engine.numRunning).toBe(0);
    expect(episode.finish()).toMatchObject({ samples: [], calls: { answered: 0, aborted: 1 } });
  });

  it('a retry of the SDK after the answer gets the first answer and makes no second sample', async () => {
    const { access, episode } = open(['one', 'two']);
    const proxy = await openCuttingProxy(access.baseUrl);
    const openai = new OpenAI({ baseURL: proxy.baseUrl, apiKey: access.apiKey, maxRetries: 2 });
    const { choices } = await openai.chat.completions.create(ask);
    proxy.close();
    expect(proxy.numCut()).toBe(1);
    expect(choices[0]?.message.content).toBe('one');
    expect(episode.finish()).toMatchObject({ samples: { length: 1 }, calls: { answered: 1, repeated: 1 } });
  });
});

it('gives an untrained target its debug model, and records nothing', async () => {
  const asked: ChatRequest[] = [];
  const debugModel: ChatModel = {
    name: 'gpt-debug',
    generate: async (request, options) => {
      asked.push(request);
      options?.onDelta?.({ type: 'content', text: 'from outside' });
      return {
        id: 'd1',
        model: 'gpt-debug',
        message: { role: 'assistant', content: 'from outside' },
        finishReason: 'stop',
        usage: { promptTokens: 1, completionTokens: 2 },
      };
    },
  };
  const episode = openScriptedEpisode({ replies: ['x'], endpointHost: server, trainableTargets: ['other'] });
  const access = episode.tuner.asOpenAIEndpoint({ agentName: 'solver', debugModel });
  const openai = new OpenAI({ baseURL: access.baseUrl, apiKey: access.apiKey, maxRetries: 0 });
  expect(access.model).toBe('gpt-debug');
  expect((await openai.chat.completions.create({ ...ask, logprobs: true })).choices[0]).toMatchObject({
    message: { content: 'from outside' },
    logprobs: null,
  });
  const text = await openai.chat.completions.stream(ask).finalContent();
  expect([text, asked.length]).toEqual(['from outside', 2]);
  expect(() => episode.tuner.asOpenAIEndpoint({ agentName: 'solver' })).toThrow(/No model for agent "solver"/);
  expect([episode.engine.requests.length, episode.finish().samples.length]).toEqual([0, 0]);
});

it('keeps two agents of one episode apart, each in its own record', async () => {
  const { episode, openai } = open(['from the solver', 'from the judge']);
  const access = episode.tuner.asOpenAIEndpoint({ agentName: 'judge', targetTag: 'team' });
  await openai.chat.completions.create(ask);
  await new OpenAI({ baseURL: access.baseUrl, apiKey: access.apiKey, maxRetries: 0 }).chat.completions.create(ask);
  expect(
    episode
      .finish()
      .samples.map(({ agentName, targetTag }) => `${agentName}/${targetTag}`)
      .toSorted(),
  ).toEqual(['judge/team', 'solver/solver']);
});

it('asks for structured answers in the words of each API', async () => {
  const schema = { type: 'object', properties: { sum: { type: 'number' } } };
  const { access, openai, episode } = open(['{"sum": 3}']);
  const anthropic = new Anthropic({
    baseURL: access.baseUrl.replace(/\/v1$/, ''),
    apiKey: access.apiKey,
    maxRetries: 0,
  });
  await openai.chat.completions.create({
    ...ask,
    response_format: { type: 'json_schema', json_schema: { name: 'answer', schema } },
  });
  await openai.responses.create({
    model: 'm',
    input: 'hi',
    text: { format: { type: 'json_schema', name: 'answer', schema } },
  });
  await anthropic.messages.create({
    ...ask,
    max_tokens: 50,
    output_config: { format: { type: 'json_schema', schema } },
  });
  for (const { text } of episode.engine.requests) expect(text).toContain('"sum"');
});
