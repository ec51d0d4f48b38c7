import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { EnvironmentOutage, type Task } from '@agentjet/core';
import { expect, it } from 'vitest';
import { openAgentjet } from './agentjet-environment.js';

const task: Task = { taskId: 't', mainQuery: '', initMessages: [], metadata: {} };
const open = { seed: 1, signal: new AbortController().signal, episodeId: 'e' };

type Answer = (
  path: string,
  body: Readonly<Record<string, unknown>>,
) => { readonly status?: number; readonly body: unknown };

async function serve(answer: Answer, port = 0): Promise<{ readonly server: Server; readonly port: number }> {
  const server = createServer((request, response) => {
    let text = '';
    request.on('data', (part) => (text += String(part)));
    request.on('end', () => {
      const { status = 200, body } = answer(request.url ?? '', JSON.parse(text));
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    });
  });
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', () => resolve()));
  return { server, port: (server.address() as AddressInfo).port };
}

function stop(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });
}

const state = [
  { role: 'system', content: 'You walk.' },
  { role: 'user', content: 'Where to?' },
];
const ok: Answer = (path) => {
  if (path === '/evaluate') return { body: { success: true, data: 0.5 } };
  return { body: { success: true, data: { state, reward: 0, is_terminated: false, info: {} } } };
};

it('sends the five fields of the protocol, and shows the conversation that the world begins with', async () => {
  const asked: unknown[] = [];
  const { server, port } = await serve((path, body) => {
    asked.push([path, body]);
    return ok(path, body);
  });
  const environment = openAgentjet({ url: `http://127.0.0.1:${port}`, envType: 'walk', params: { level: 2 } });
  const session = await environment.open(task, open);
  expect(session.observation).toMatchObject({ text: 'You walk.\nWhere to?', messages: state });
  await session.step?.('north');
  await session.step?.({ role: 'assistant', content: '', tool_calls: [] });
  await session.close();
  const instance = expect.stringMatching(/^e-[0-9a-f]{8}-0$/);
  const request = (fields: object) => ({
    env_type: 'walk',
    task_id: null,
    instance_id: instance,
    messages: {},
    params: {},
    ...fields,
  });
  expect(asked).toEqual([
    ['/create', request({ task_id: 't', params: { level: 2 } })],
    ['/step', request({ messages: { role: 'assistant', content: 'north' } })],
    ['/step', request({ messages: { role: 'assistant', content: '', tool_calls: [] } })],
    ['/release', request({})],
  ]);
  await stop(server);
});

it('loses its session when the server is started again, and opens others without being started again itself', async () => {
  const first = await serve(ok);
  const environment = openAgentjet({ url: `http://127.0.0.1:${first.port}`, envType: 'walk' });
  const session = await environment.open(task, open);
  await stop(first.server);
  await expect(session.step?.('north')).rejects.toThrow(EnvironmentOutage);
  await session.close();
  await expect(environment.open(task, open)).rejects.toThrow(EnvironmentOutage);

  const known = new Set<unknown>();
  const second = await serve((path, body) => {
    if (path === '/create') known.add(body['instance_id']);
    else if (!known.has(body['instance_id']))
      return { status: 400, body: { detail: `Instance ${String(body['instance_id'])} not found!` } };
    return ok(path, body);
  }, first.port);
  const again = await environment.open(task, open);
  expect(await again.step?.('north')).toMatchObject({ isDone: false });
  expect(await again.evaluate?.()).toEqual({ reward: 0.5, isSuccess: false });
  known.clear();
  await expect(again.step?.('north')).rejects.toThrow(EnvironmentOutage);
  await expect(again.evaluate?.()).rejects.toThrow(EnvironmentOutage);
  await again.close();
  await stop(second.server);
});

it('shows the last line of a traceback', async () => {
  const trace = 'Traceback (most recent call last):\n  File "env.py", line 3\nKeyError: \'lake\'\n';
  const { server, port } = await serve((path, body) =>
    path === '/step' ? { status: 500, body: { detail: trace } } : ok(path, body),
  );
  const session = await openAgentjet({ url: `http://127.0.0.1:${port}`, envType: 'walk' }).open(task, open);
  await expect(session.step?.('north')).rejects.toThrow("answered 500: KeyError: 'lake'");
  await session.close();
  await stop(server);
});

it('ends a call that is under way when it is closed', async () => {
  const { server, port } = await serve(ok);
  const hanging = createServer(() => undefined);
  await new Promise<void>((resolve) => hanging.listen(0, '127.0.0.1', () => resolve()));
  const slowUrl = `http://127.0.0.1:${(hanging.address() as AddressInfo).port}`;
  const fetchOf = (url: string, init: RequestInit) =>
    globalThis.fetch(url.endsWith('/step') ? `${slowUrl}/step` : url, init);
  const session = await openAgentjet({ url: `http://127.0.0.1:${port}`, envType: 'walk', fetch: fetchOf }).open(
    task,
    open,
  );
  const step = session.step?.('north');
  const settled = expect(step).rejects.toThrow('The session was closed');
  await session.close();
  await settled;
  await Promise.all([stop(server), stop(hanging)]);
});

it('asks for partial credit as the original does, and reads each form of a score', async () => {
  const scores: unknown[] = [0.5, true, { accuracy: 1, completed: true }, { score: 0.25 }];
  const asked: unknown[] = [];
  const { server, port } = await serve((path, body) => {
    if (path !== '/evaluate') return ok(path, body);
    asked.push(body['params']);
    return { body: { success: true, data: scores[asked.length - 1] } };
  });
  const session = await openAgentjet({ url: `http://127.0.0.1:${port}`, envType: 'walk' }).open(task, open);
  const verdicts = [];
  for (const _ of scores) verdicts.push(await session.evaluate?.());
  expect(verdicts.map((verdict) => verdict?.reward)).toEqual([0.5, 1, 1, 0.25]);
  expect(asked).toEqual(scores.map(() => ({ sparse: false })));
  await session.close();
  await stop(server);
});

it('does not wait for ever for a server that has no room, nor for one that never answers', async () => {
  const full = await serve(() => ({ status: 503, body: { detail: 'busy' } }));
  const { tasks } = openAgentjet({ url: `http://127.0.0.1:${full.port}`, envType: 'walk' });
  await expect(tasks?.('train')[Symbol.asyncIterator]().next()).rejects.toThrow('answered 503: busy');
  await stop(full.server);

  const { server, port } = await serve(ok);
  const hanging = createServer(() => undefined);
  await new Promise<void>((resolve) => hanging.listen(0, '127.0.0.1', () => resolve()));
  const hangingUrl = `http://127.0.0.1:${(hanging.address() as AddressInfo).port}/release`;
  const session = await openAgentjet({
    url: `http://127.0.0.1:${port}`,
    envType: 'walk',
    releaseTimeoutMs: 5,
    fetch: (url, init) => globalThis.fetch(url.endsWith('/release') ? hangingUrl : url, init),
  }).open(task, open);
  await session.close();
  await Promise.all([stop(server), stop(hanging)]);
});

it('releases its instance after the network was down for a moment', async () => {
  const { server, port } = await serve(ok);
  const released: string[] = [];
  const fetchOf = async (url: string, init: RequestInit) => {
    if (url.endsWith('/release')) released.push(url);
    if (released.length === 1)
      throw new TypeError('fetch failed', { cause: Object.assign(new Error('no route'), { code: 'ENETUNREACH' }) });
    return globalThis.fetch(url, init);
  };
  const options = { url: `http://127.0.0.1:${port}`, envType: 'walk', fetch: fetchOf };
  const session = await openAgentjet(options).open(task, open);
  await session.close();
  expect(released).toHaveLength(2);
  await stop(server);
});

it('waits for no list of tasks that never ends', async () => {
  const server = createServer((_request, response) => {
    const timer = setInterval(() => response.write('['), 5);
    response.on('close', () => clearInterval(timer));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', () => resolve()));
  const { port } = server.address() as AddressInfo;
  const world = openAgentjet({ url: `http://127.0.0.1:${port}`, envType: 'slow', listTimeoutMs: 50 });
  const list = async (): Promise<void> => {
    for await (const _ of world.tasks?.('train') ?? []);
  };
  await expect(list()).rejects.toThrow(/^127\.0\.0\.1:\d+ gave no complete list of tasks in 0\.05 s/);
  await stop(server);
});
