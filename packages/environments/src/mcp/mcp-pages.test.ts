import { isJsonObject, type Task } from '@agentjet/core';
import { expect, it } from 'vitest';
import { startFaultyHttp, type HttpRequest } from '../testing/faulty-http.js';
import { openMcp } from './mcp-environment.js';

const task: Task = { taskId: 't', mainQuery: '', initMessages: [], metadata: {} };
const open = { seed: 1, signal: new AbortController().signal, episodeId: 'e' };
const inputSchema = { type: 'object', properties: {} };
const initialized = { capabilities: { tools: {} }, serverInfo: { name: 'pages', version: '1' } };

/** Lists one tool a page, and names the next page. */
async function serve(nextOf: (cursor: unknown) => string | undefined) {
  return startFaultyHttp({
    kindOf: () => undefined,
    plan: () => 'none',
    handle: ({ method, body }: HttpRequest) => {
      if (method !== 'POST') return { status: 405, body: null };
      if (body['id'] === undefined) return { status: 202, body: null };
      const { protocolVersion, cursor } = isJsonObject(body['params']) ? body['params'] : {};
      const next = nextOf(cursor);
      const page = {
        tools: [{ name: `tool_${typeof cursor === 'string' ? cursor : '1'}`, inputSchema }],
        ...(next !== undefined && { nextCursor: next }),
      };
      const result = body['method'] === 'initialize' ? { protocolVersion, ...initialized } : page;
      return { status: 200, body: { jsonrpc: '2.0', id: body['id'], result } };
    },
  });
}

async function toolsOf(nextOf: (cursor: unknown) => string | undefined): Promise<readonly string[]> {
  const { url, close } = await serve(nextOf);
  const options = { url: `${url}/mcp`, headers: {}, openTool: null, evaluateTool: null, tools: null };
  const session = await openMcp(options).open(task, open);
  await session.close();
  await close();
  return session.tools.map(({ name }) => name);
}

it('gives the agent the tools of all pages', async () => {
  const next: Readonly<Record<string, string>> = { undefined: '2', 2: '3' };
  expect(await toolsOf((cursor) => next[String(cursor)])).toEqual(['tool_1', 'tool_2', 'tool_3']);
});

it('reads no page for ever', async () => {
  expect(await toolsOf(() => 'again')).toEqual(['tool_1', 'tool_again']);
});

it('refuses a server that has always one page more', async () => {
  let page = 0;
  await expect(toolsOf(() => String(++page))).rejects.toThrow('its list of tools has more than 200 pages');
});

it('refuses a session that has the id of an open one, and does not end that', async () => {
  const ended: unknown[] = [];
  const { url, close } = await startFaultyHttp({
    kindOf: () => undefined,
    plan: () => 'none',
    handle: ({ method, body, headers }: HttpRequest) => {
      if (method === 'DELETE') ended.push(headers['mcp-session-id']);
      if (method !== 'POST') return { status: 405, body: null };
      if (body['id'] === undefined) return { status: 202, body: null };
      const { protocolVersion } = isJsonObject(body['params']) ? body['params'] : {};
      const result = body['method'] === 'initialize' ? { protocolVersion, ...initialized } : { tools: [] };
      return { status: 200, body: { jsonrpc: '2.0', id: body['id'], result }, headers: { 'mcp-session-id': 'one' } };
    },
  });
  const options = { url: `${url}/mcp`, headers: {}, openTool: null, evaluateTool: null, tools: null };
  const environment = openMcp(options);
  const session = await environment.open(task, open);
  await expect(environment.open(task, open)).rejects.toThrow('it answered for another session, one');
  expect(ended).toEqual([]);
  await session.close();
  expect(ended).toEqual(['one']);
  await (await environment.open(task, open)).close();
  await close();
});
