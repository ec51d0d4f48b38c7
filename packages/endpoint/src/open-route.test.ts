import { duplexPair } from 'node:stream';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ChatModel } from '@agentjet/core';
import { WaitClock, type EndpointRoute, type OpenAIEndpoint } from '@agentjet/rollout';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startEndpointServer, type EndpointServer } from './index.js';

const model: ChatModel = {
  name: 'scripted',
  async generate() {
    await sleep(30);
    const message = { role: 'assistant', content: 'hello' } as const;
    const usage = { promptTokens: 7, completionTokens: 2 };
    return { id: 'r', model: 'scripted', message, finishReason: 'stop', usage };
  },
};
const body = '{"model":"m","messages":[{"role":"user","content":"hi"}]}';

let server: EndpointServer;
beforeAll(async () => {
  server = await startEndpointServer();
});
afterAll(() => server.close());

const { signal } = new AbortController();
const open = (episodeId: string): OpenAIEndpoint => server.open({ episodeId, agentName: 'a', model, signal });

/** Sends one request through the route and returns the whole answer. */
async function ask(route: EndpointRoute, apiKey: string): Promise<string> {
  const [mine, theirs] = duplexPair();
  route.accept(theirs);
  const head = ['POST /v1/chat/completions HTTP/1.1', 'Host: m', 'Connection: close'];
  head.push(`Authorization: Bearer ${apiKey}`, `Content-Length: ${body.length}`);
  mine.write(`${head.join('\r\n')}\r\n\r\n${body}`);
  return text(mine);
}

describe('a route for the agents of one episode', () => {
  it('takes only keys of this episode, measures the waiting, and ends', async () => {
    const [first, second, other] = [open('e1'), open('e1'), open('e2')] as const;
    const clock = new WaitClock();
    const route = first.openRoute?.(clock);
    if (route === undefined) throw new Error('There is no route.');
    expect(await ask(route, other.apiKey)).toMatch(/401[^]*other_episode/);
    expect(await ask(route, 'sk-no')).toMatch(/401[^]*invalid_api_key/);
    expect(clock.read()).toEqual({ numCalls: 0, numRunning: 0, waitedMs: 0 });
    expect(await ask(route, first.apiKey)).toMatch(/200 OK[^]*"hello"/);
    expect(await ask(route, second.apiKey)).toMatch(/200 OK[^]*"hello"/);
    expect(clock.read().waitedMs).toBeGreaterThan(55);
    expect(clock.read()).toMatchObject({ numCalls: 2, numRunning: 0 });
    const [idle, theirs] = duplexPair();
    route.accept(theirs);
    route.close();
    expect(theirs.destroyed).toBe(true);
    idle.destroy();
  });

  it('waits for no model while the body of a request is incomplete', async () => {
    const endpoint = open('e1');
    const clock = new WaitClock();
    const route = endpoint.openRoute?.(clock);
    const [mine, theirs] = duplexPair();
    route?.accept(theirs);
    const head = `POST /v1/chat/completions HTTP/1.1\r\nHost: m\r\nConnection: close\r\nAuthorization: Bearer ${endpoint.apiKey}`;
    mine.write(`${head}\r\nContent-Length: ${body.length}\r\n\r\n${body.slice(0, 9)}`);
    await sleep(20);
    expect(clock.read()).toMatchObject({ numCalls: 0, waitedMs: 0 });
    mine.write(body.slice(9));
    expect(await text(mine)).toContain('"hello"');
    expect(clock.read()).toMatchObject({ numCalls: 1, numRunning: 0 });
    route?.close();
  });

  it('has the public address if there is one', async () => {
    const publicUrl = 'http://10.0.0.5:8710/v1';
    const elsewhere = await startEndpointServer({ publicUrl });
    expect(elsewhere.open({ episodeId: 'e', agentName: 'a', model, signal }).baseUrl).toBe(publicUrl);
    await elsewhere.close();
  });
});
