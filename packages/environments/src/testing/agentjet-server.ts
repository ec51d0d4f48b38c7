import { isJsonObject } from '@agentjet/core';
import { openAgentjet } from '../agentjet/agentjet-environment.js';
import type { CounterWorld } from './counter-world.js';
import { startFaultyHttp, type HttpAnswer, type HttpRequest } from './faulty-http.js';
import type { RequestKind } from './faults.js';
import type { StartWorld } from './world-server.js';

const kinds: Readonly<Record<string, RequestKind>> = {
  '/create': 'open',
  '/step': 'act',
  '/evaluate': 'evaluate',
  '/release': 'close',
  '/get_env_profile': 'tasks',
};

/** Starts a server that answers as the original service does. */
export const startAgentjetWorld: StartWorld = async (world, plan) => {
  const http = await startFaultyHttp({
    kindOf: ({ path }) => kinds[path],
    handle: (request) => answer(world, request),
    plan,
    asForeign: ({ status, body }) => ({ status, body: withInfo(body, { instance_id: 'another' }) }),
  });
  return { environment: openAgentjet({ url: http.url, envType: 'counter' }), close: http.close };
};

function withInfo(body: unknown, info: object): unknown {
  const { data: given, ...rest } = isJsonObject(body) ? body : {};
  return { ...rest, data: { ...(isJsonObject(given) ? given : {}), info } };
}

const data = (value: unknown): HttpAnswer => ({ status: 200, body: { success: true, data: value } });
const state = (text: string) => [{ role: 'user', content: text }];

function answer(world: CounterWorld, { path, body }: HttpRequest): HttpAnswer {
  const id = String(body['instance_id']);
  if (path === '/get_env_profile') return data(['a', 'b', 'c']);
  if (path === '/release') return { status: 200, body: { success: world.end(id), data: null } };
  if (path === '/create') {
    if (body['task_id'] === 'unknown') return { status: 400, body: { detail: 'There is no task "unknown".' } };
    const text = world.begin(id, { taskId: String(body['task_id']) });
    return data({ state: state(text), reward: 0, is_terminated: false, info: { instance_id: id } });
  }
  if (!world.open.has(id)) return { status: 400, body: { detail: `Instance ${id} not found!` } };
  if (path === '/evaluate') return data(world.score(id));
  const { content } = body['messages'] as { readonly content: string };
  const result = world.apply(id, content);
  if (result === undefined || result.count < 0) return { status: 400, body: { detail: `No such action: ${content}` } };
  return data({ state: state(result.text), reward: 0, is_terminated: result.isDone, info: {} });
}
