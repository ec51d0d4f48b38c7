import { setTimeout as sleep } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { OpenAIEndpoint } from '@agentjet/rollout';
import { openScriptedEpisode } from '@agentjet/rollout/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type EndpointServer, startEndpointServer } from './index.js';

const numEpisodes = 50;
let server: EndpointServer;
let collectGarbage: () => void;

beforeAll(async () => {
  server = await startEndpointServer();
  setFlagsFromString('--expose-gc');
  collectGarbage = runInNewContext('gc') as () => void;
});

afterAll(() => server.close());

const messages = [{ role: 'user', content: 'hi' }];
const requests: readonly (readonly [name: string, path: string, body: object])[] = [
  ['chat', '/chat/completions', { messages }],
  ['stream', '/chat/completions', { messages, stream: true }],
  ['messages', '/messages', { messages, max_tokens: 9 }],
  ['responses', '/responses', { input: 'hi' }],
  ['an invalid request', '/chat/completions', { messages: [] }],
];

async function post({ baseUrl, apiKey }: OpenAIEndpoint, path: string, body: object): Promise<void> {
  const response = await fetch(baseUrl + path, {
    method: 'POST',
    headers: { 'x-api-key': apiKey },
    body: JSON.stringify({ model: 'm', ...body }),
  });
  await response.text();
}

async function runEpisode(path: string, body: object): Promise<WeakRef<object>> {
  const episode = openScriptedEpisode({ replies: ['hello'], endpointHost: server });
  await post(episode.tuner.asOpenAIEndpoint({ agentName: 'solver' }), path, body);
  episode.finish();
  return new WeakRef(episode.engine);
}

/** Collects garbage in several rounds, because a callback of the last turn may keep objects until the next one. */
async function countAlive(episodes: readonly WeakRef<object>[]): Promise<number> {
  const isAlive = (episode: WeakRef<object>): boolean => episode.deref() !== undefined;
  for (let round = 0; round < 20 && episodes.some(isAlive); round++) {
    await sleep(10);
    collectGarbage();
  }
  return episodes.filter(isAlive).length;
}

describe('an episode that has ended is forgotten', () => {
  it.each(requests)('after %s', async (_name, path, body) => {
    const episodes: WeakRef<object>[] = [];
    for (let index = 0; index < numEpisodes; index++) episodes.push(await runEpisode(path, body));
    expect(await countAlive(episodes)).toBe(0);
  });
});
