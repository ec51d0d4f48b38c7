import { randomUUID } from 'node:crypto';
import { isJsonObject, type JsonObject } from '@agentjet/core';
import { openMcp } from '../mcp/mcp-environment.js';
import type { CounterWorld } from './counter-world.js';
import { startFaultyHttp, type HttpAnswer, type HttpRequest } from './faulty-http.js';
import type { RequestKind } from './faults.js';
import type { StartWorld } from './world-server.js';

/** Starts a server of the Model Context Protocol over Streamable HTTP that answers with plain JSON. */
export const startMcpWorld: StartWorld = async (world, plan) => {
  const sessions = new Set<string>();
  const handle = (request: HttpRequest): HttpAnswer => answer(world, sessions, request);
  const asForeign = (given: HttpAnswer, { headers }: HttpRequest): HttpAnswer =>
    headers['mcp-session-id'] === undefined ? given : { ...given, headers: { 'mcp-session-id': 'another' } };
  const http = await startFaultyHttp({ kindOf, handle, plan, asForeign });
  const options = { url: `${http.url}/mcp`, headers: {}, openTool: 'begin', evaluateTool: 'score', tools: null };
  return { environment: openMcp(options), close: http.close };
};

function kindOf({ method, body }: HttpRequest): RequestKind | undefined {
  if (method === 'DELETE') return 'close';
  if (method !== 'POST') return undefined;
  const { name } = isJsonObject(body['params']) ? body['params'] : {};
  if (body['method'] !== 'tools/call') return 'open';
  return name === 'act' ? 'act' : name === 'score' ? 'evaluate' : 'open';
}

function answer(world: CounterWorld, sessions: Set<string>, { method, body, headers }: HttpRequest): HttpAnswer {
  const id = String(headers['mcp-session-id']);
  if (method === 'GET') return { status: 405, body: null };
  if (body['method'] === 'initialize') return initialize(sessions, body);
  if (!sessions.has(id)) return { status: 404, body: { error: 'no such session' } };
  if (method === 'DELETE') {
    sessions.delete(id);
    world.end(id);
    return { status: 200, body: null };
  }
  if (body['id'] === undefined) return { status: 202, body: null };
  return { status: 200, body: { jsonrpc: '2.0', id: body['id'], ...respond(world, id, body) } };
}

function initialize(sessions: Set<string>, { id, params }: JsonObject): HttpAnswer {
  const session = randomUUID();
  sessions.add(session);
  const { protocolVersion } = isJsonObject(params) ? params : {};
  const result = { protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 'counter', version: '1' } };
  return { status: 200, body: { jsonrpc: '2.0', id, result }, headers: { 'mcp-session-id': session } };
}

const words = { type: 'object', properties: { words: { type: 'string' } } };
const tools = ['begin', 'act', 'score'].map((name) => ({ name, description: `to ${name}`, inputSchema: words }));

function respond(world: CounterWorld, id: string, { method, params }: JsonObject): JsonObject {
  if (method === 'tools/list') return { result: { tools } };
  const { name, arguments: given } = isJsonObject(params) ? params : {};
  const args = isJsonObject(given) ? given : {};
  if (name === 'begin') {
    if (args['task_id'] === 'unknown') return text('There is no task "unknown".', true);
    return text(world.begin(id, { taskId: String(args['task_id']), seed: Number(args['seed']) }));
  }
  if (name === 'score') return text(String(world.score(id)));
  const result = world.apply(id, String(args['words']));
  if (result === undefined || result.count < 0)
    return { error: { code: -32602, message: `No such action: ${String(args['words'])}` } };
  return text(result.text);
}

const text = (said: string, isError = false): JsonObject => ({
  result: { content: [{ type: 'text', text: said }], isError },
});
