import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { askChat, listChats, parseChat } from './chat.js';
import { viewSwarm } from './view-swarm.js';

let server: Server;
let url: string;
const asked: { readonly place: string; readonly key: string | undefined; readonly body: string }[] = [];
const answers: Record<string, { readonly status?: number; readonly body: string; readonly location?: string }> = {};

beforeAll(async () => {
  server = createServer((request, response) => {
    let body = '';
    request.on('data', (chunk: Buffer) => void (body += chunk.toString()));
    request.on('end', () => {
      asked.push({ place: `${request.method} ${request.url}`, key: request.headers.authorization, body });
      const answer = answers[request.url ?? ''] ?? { status: 404, body: '{"error":{"message":"not here"}}' };
      if (answer.location !== undefined) response.setHeader('location', answer.location);
      response.writeHead(answer.status ?? 200).end(answer.body);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(() => void server.close());

describe('a swarm', () => {
  it('is read from its server, with fields that only newer servers send', async () => {
    answers['/swarm/v1/server'] = {
      body: JSON.stringify({
        state: 'paused',
        step: 7,
        groups_open: 3,
        groups_pooled: 2,
        running: 5,
        capacity: 8,
        account: { trained: 40, odd: 'x' },
        shares: { math: { part: 0.4, asked: 4, got: 3, tasks: 9, in_flight: 2, trained: 30, idle: true } },
        weather: 'fine',
        nested: { new: 1 },
      }),
    };
    answers['/swarm/v1/episodes?limit=1000'] = {
      body: JSON.stringify({ episodes: ['running', 'running', 'trained'].map((state) => ({ client: 'a', state })) }),
    };
    const view = await viewSwarm({ url, key: 'k' });
    expect(view).toMatchObject({
      facts: expect.arrayContaining([
        ['state', 'paused'],
        ['weather', 'fine'],
      ]),
      account: { trained: 40 },
      shares: [{ name: 'math', part: 0.4, isIdle: true }],
      clients: [{ name: 'a', states: { running: 2, trained: 1 } }],
      waits: expect.arrayContaining(['The server is paused.', 'No client works for the share math.']),
    });
    expect(asked.map(({ place, key }) => [place, key])).toEqual([
      ['GET /swarm/v1/server', 'Bearer k'],
      ['GET /swarm/v1/episodes?limit=1000', 'Bearer k'],
    ]);
  });

  it('has its problem in place of figures if it refuses, redirects or does not answer', async () => {
    answers['/swarm/v1/server'] = { status: 401, body: '{"error":{"message":"no key"}}' };
    expect(await viewSwarm({ url })).toEqual({ url, problem: `${url} answered 401: no key` });
    answers['/swarm/v1/server'] = { status: 302, body: '', location: `${url}/elsewhere` };
    expect(await viewSwarm({ url })).toEqual({ url, problem: expect.stringContaining('cannot be reached') });
    answers['/swarm/v1/server'] = { body: '<html>' };
    expect(await viewSwarm({ url })).toEqual({ url, problem: expect.stringContaining('did not answer with JSON') });
    const nowhere = 'http://127.0.0.1:9';
    expect(await viewSwarm({ url: nowhere })).toMatchObject({ problem: expect.stringContaining(nowhere) });
  });
});

describe('a chat', () => {
  it('names the model of each server, and passes a request and its stream on', async () => {
    answers['/v1/models'] = { body: '{"data":[{"id":"lake"}]}' };
    const chats = [
      { name: 'before', url },
      { name: 'after', url: 'http://127.0.0.1:9' },
    ];
    expect(await listChats(chats)).toEqual([
      { name: 'before', url, model: 'lake' },
      { name: 'after', url: 'http://127.0.0.1:9', problem: expect.stringContaining('cannot be reached') },
    ]);
    answers['/v1/chat/completions'] = { body: 'data: {"choices":[]}\n\n' };
    const request = { chat: 0, model: 'lake', messages: [{ role: 'user', content: 'hi' }], temperature: 0 } as const;
    const answer = await askChat({ name: 'before', url, key: 'k' }, request, new AbortController().signal);
    expect(await answer.text()).toBe('data: {"choices":[]}\n\n');
    expect(asked.at(-1)).toMatchObject({ place: 'POST /v1/chat/completions', key: 'Bearer k' });
    expect(JSON.parse(asked.at(-1)?.body ?? '')).toEqual({
      model: 'lake',
      messages: [{ role: 'user', content: 'hi' }],
      temperature: 0,
      stream: true,
    });
  });

  it('refuses what is not a conversation', () => {
    const right = { chat: 0, model: 'm', messages: [{ role: 'user', content: 'x' }] };
    expect(parseChat(right)).toEqual({ ...right, temperature: 1 });
    for (const wrong of [
      { ...right, chat: 'x' },
      { ...right, messages: [] },
      { ...right, messages: [{ role: 'tool', content: 'x' }] },
      { ...right, messages: [{ role: 'user', content: [] }] },
      { ...right, temperature: 9 },
    ])
      expect(parseChat(wrong)).toBeUndefined();
  });
});
