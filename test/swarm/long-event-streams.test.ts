import type { SwarmServer } from '@agentjet/swarm-server';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { MemoryServers } from './memory-servers.js';

/** A client that has missed many events gets them in parts, while new ones are committed. */

let servers = new MemoryServers();
beforeEach(() => {
  servers = new MemoryServers();
});
afterEach(() => servers.close());

function ask({ url, firstKey }: SwarmServer, route: string, sent: RequestInit = {}): Promise<Response> {
  return fetch(`${url}/swarm/v1${route}`, {
    ...sent,
    headers: { authorization: `Bearer ${firstKey}`, ...sent.headers },
  });
}

const post = async (server: SwarmServer, route: string, body: object): Promise<unknown> =>
  (await ask(server, route, { method: 'POST', body: JSON.stringify(body) })).json();

async function claimAndAbandon(server: SwarmServer, claimId: string): Promise<string> {
  const claimed = (await post(server, '/episodes', { claim_id: claimId, client: 'me', life: 'one' })) as {
    readonly episodes: readonly { readonly episode_id: string }[];
  };
  const id = claimed.episodes[0]?.episode_id ?? '';
  await post(server, `/episodes/${id}/abandon`, { client: 'me' });
  return id;
}

/** Reads the numbers of the events up to the first one about the episode `last`. */
async function readIds(response: Response, last: string): Promise<readonly number[]> {
  let text = '';
  const decoder = new TextDecoder();
  for await (const chunk of response.body ?? []) {
    text += decoder.decode(chunk as Uint8Array, { stream: true });
    if (text.includes(`"${last}"`) && text.endsWith('\n\n')) break;
  }
  return [...text.matchAll(/^id: (\d+)$/gm)].map(([, id]) => Number(id));
}

it('it gets each of them once, in order, and the new ones after them', async () => {
  const server = await servers.start();
  const tasks = Array.from({ length: 200 }, (_none, index) => ({ task_id: `t${index}`, index, hash: 'h' }));
  await post(server, '/tasks', { tasks, total: 200 });
  for (let count = 0; count < 60; count++) await claimAndAbandon(server, `old-${count}-`);
  const missed = ask(server, '/events', { headers: { 'last-event-id': '0' } });
  const streams = [missed, ask(server, '/events', { headers: { 'last-event-id': '0' } })];
  for (let count = 0; count < 20; count++) await claimAndAbandon(server, `new-${count}-`);
  const last = await claimAndAbandon(server, 'last');
  expect(last).not.toBe('');
  const read = await Promise.all(streams.map(async (stream) => readIds(await stream, last)));
  const whole = await readIds(await ask(server, '/events', { headers: { 'last-event-id': '0' } }), last);
  expect(whole.length).toBeGreaterThan(150);
  for (const ids of read) {
    expect(ids).toEqual([...new Set(ids)].sort((a, b) => a - b));
    expect(ids).toEqual(whole.slice(0, ids.length));
  }
});
