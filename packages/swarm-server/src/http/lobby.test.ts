import { WireError } from '@agentjet/swarm-wire';
import { expect, it } from 'vitest';
import { createKey } from './keys.js';
import { createLobby } from './lobby.js';

function openLobby(keep: () => Promise<void>) {
  const { stored, answer } = createKey({ name: 'first', role: 'commander' });
  const { app, begun } = createLobby({ stored, failure: undefined, check: () => undefined, keep });
  const put = async (config: object): Promise<Response> =>
    app.request(
      '/swarm/v1/run',
      {
        method: 'PUT',
        headers: { authorization: `Bearer ${answer.key}`, 'content-type': 'application/json' },
        body: JSON.stringify({ config }),
      },
      { incoming: { complete: true } },
    );
  return { put, begun };
}

it('tells a commander that a run begins once its configuration is kept', async () => {
  let keep: () => void = () => undefined;
  const kept = new Promise<void>((resolve) => {
    keep = resolve;
  });
  const { put, begun } = openLobby(() => kept);
  const events: string[] = [];
  const answered = put({ model: { path: 'a' } }).then(({ status }) => void events.push(`answered ${status}`));
  expect(await (await put({ model: { path: 'b' } })).json()).toMatchObject({ error: { code: 'other_run' } });
  events.push('kept');
  keep();
  await answered;
  expect(events).toEqual(['kept', 'answered 201']);
  expect((await put({ model: { path: 'a' } })).status).toBe(200);
  expect(await begun).toEqual({ model: { path: 'a' } });
});

it('takes another run if the first could not be kept', async () => {
  let isFull = true;
  const { put } = openLobby(async () => {
    if (isFull) throw new WireError('failed', 'The disk is full.');
  });
  expect((await put({ model: { path: 'a' } })).status).toBe(500);
  isFull = false;
  expect((await put({ model: { path: 'b' } })).status).toBe(201);
});
