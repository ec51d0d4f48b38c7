import { Readable } from 'node:stream';
import { WireError } from '@agentjet/swarm-wire';
import { expect, it } from 'vitest';
import { createKey } from './keys.js';
import { createLobby } from './lobby.js';

function openLobby(keep: () => Promise<string>, failure?: string) {
  const { stored, answer } = createKey({ name: 'first', role: 'commander' });
  const { app, begun } = createLobby({
    stored,
    failure,
    limits: { maxBytes: 1000 },
    check: () => undefined,
    keep,
  });
  const put = async (config: object): Promise<Response> => {
    const headers = { authorization: `Bearer ${answer.key}` };
    const incoming = Object.assign(Readable.from([Buffer.from(JSON.stringify({ config }))]), {
      headers,
      complete: true,
    });
    return app.request('/swarm/v1/run', { method: 'PUT', headers }, { incoming });
  };
  const look = async (key = answer.key): Promise<unknown> => {
    const headers = { authorization: `Bearer ${key}` };
    const incoming = Object.assign(Readable.from([]), { headers, complete: true });
    return (await app.request('/swarm/v1/server', { headers }, { incoming })).json();
  };
  return { put, look, begun };
}

it('answers a commander that a run begins once its configuration is kept', async () => {
  let keep: (name: string) => void = () => undefined;
  const kept = new Promise<string>((resolve) => {
    keep = resolve;
  });
  const { put, begun } = openLobby(() => kept);
  const events: string[] = [];
  const answered = put({ model: { path: 'a' } }).then(({ status }) => void events.push(`answered ${status}`));
  expect(await (await put({ model: { path: 'b' } })).json()).toMatchObject({ error: { code: 'other_run' } });
  events.push('kept');
  keep('runs');
  await answered;
  expect(events).toEqual(['kept', 'answered 201']);
  const again = await put({ model: { path: 'a' } });
  expect([again.status, await again.json()]).toEqual([200, { run: 'runs', revision: 0 }]);
  await begun;
});

it('takes another run if the first could not be kept', async () => {
  let isFull = true;
  const { put } = openLobby(async () => {
    if (isFull) throw new WireError('failed', 'The disk is full.');
    return 'runs';
  });
  expect((await put({ model: { path: 'a' } })).status).toBe(500);
  isFull = false;
  expect((await put({ model: { path: 'b' } })).status).toBe(201);
});

it('reads no larger body than a server with a run does', async () => {
  const { put } = openLobby(async () => 'runs');
  const answer = await put({ model: { path: 'a'.repeat(2000) } });
  expect([answer.status, await answer.json()]).toMatchObject([413, { error: { code: 'too_large' } }]);
});

it('shows only the commander why the last run could not begin', async () => {
  const { look } = openLobby(async () => 'runs', 'There is no folder /home/me.');
  expect(JSON.stringify(await look())).toContain('The last one could not begin: There is no folder /home/me.');
  const other = await look('ajk_commander_0_0');
  expect(other).toMatchObject({ error: { code: 'no_run' } });
  expect(JSON.stringify(other)).not.toContain('could not begin');
});
