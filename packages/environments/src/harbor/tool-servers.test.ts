import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { connect, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { EnvironmentOutage } from '@agentjet/core';
import { isProcessAlive } from '@agentjet/core/processes';
import type { ToolServer } from '@agentjet/rollout/inputs';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { SSEServerTransport } from '@modelcontextprotocol/sdk/server/sse.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import type { Box } from '@agentjet/sandbox/boxes';
import { afterAll, expect, it } from 'vitest';
import { z } from 'zod';
import { spawnTalk } from '../testing/spawn-talk.js';
import { ToolServers, type ToolServersPlace } from './tool-servers.js';

const folder = mkdtempSync(path.join(tmpdir(), 'tool-servers-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const log = path.join(folder, 'log');
const program = path.join(import.meta.dirname, '../../test-servers/counter-stdio.mjs');

const place: ToolServersPlace = {
  box: { talk: spawnTalk } as Box,
  user: undefined,
  workdir: '/',
  env: { COUNTER_LOG: log },
  dial: async (_host, port) => connect(port, '127.0.0.1'),
  host: 'Harbor task t',
  signal: new AbortController().signal,
};
const limits = { seconds: 20, outputCharacters: 1000 };
const counter = (name: string, args = [program]): ToolServer => ({
  name,
  transport: 'stdio',
  command: process.execPath,
  args,
});

it('gives the agent the tools of programs in the box, until they are closed', async () => {
  const servers = new ToolServers([counter('one'), counter('two two')], place);
  await servers.begin();
  expect(servers.tools.map(({ name }) => name)).toEqual([
    'mcp__one__begin',
    'mcp__one__act',
    'mcp__one__score',
    'mcp__two_two__begin',
    'mcp__two_two__act',
    'mcp__two_two__score',
  ]);
  expect(await servers.call('mcp__one__act', { words: 'a' }, limits)).toMatchObject({ text: 'a at 1' });
  expect(await servers.call('mcp__one__act', { words: 'b' }, limits)).toMatchObject({ text: 'b at 2' });
  expect(await servers.call('mcp__two_two__act', { words: 'c' }, limits)).toMatchObject({ text: 'c at 1' });
  const long = await servers.call('mcp__one__act', { words: 'x'.repeat(5000) }, limits);
  expect(long.text).toContain('characters are left out');
  await servers.close();
  const pids = [...readFileSync(log, 'utf8').matchAll(/started (\d+)/g)].map(([, pid]) => Number(pid));
  expect(pids.map((pid) => isProcessAlive({ pid }))).toEqual([false, false]);
  expect(await servers.call('mcp__one__act', { words: 'd' }, limits)).toMatchObject({ text: 'd at 1' });
  await servers.close();
});

it('is an outage that names the server and its last words if a program ends', async () => {
  const servers = new ToolServers([counter('one')], place);
  await servers.begin();
  const lost = servers.call('mcp__one__act', { words: 'die' }, limits);
  await expect(lost).rejects.toThrow('The session of tool server one of Harbor task t is lost: it ended: exit code 1');
  await expect(lost).rejects.toThrow(EnvironmentOutage);
  await servers.close();
  const absent = new ToolServers([{ ...counter('gone'), command: '/no/such/program' } as ToolServer], place);
  await expect(absent.begin()).rejects.toThrow(/gone of Harbor task t is lost: .*ENOENT/);
  await absent.close();
});

it('ends a call at the time limit of the agent, and the server remains', async () => {
  const slow = `
    process.stdin.on('data', (part) => String(part).split('\\n').filter(Boolean).map(JSON.parse).forEach(({ id, method, params }) => {
      const say = (result) => console.log(JSON.stringify({ jsonrpc: '2.0', id, result }));
      if (method === 'initialize') say({ protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 's', version: '1' } });
      if (method === 'tools/list') say({ tools: [{ name: 'wait', inputSchema: { type: 'object' } }] });
      if (method === 'tools/call' && params.arguments.fast) say({ content: [{ type: 'text', text: 'fast' }] });
    }));`;
  const servers = new ToolServers([counter('slow', ['-e', slow])], place);
  await servers.begin();
  expect(await servers.call('mcp__slow__wait', {}, { ...limits, seconds: 0.1 })).toEqual({
    text: '[The call was ended after 0.1 s.]',
    isError: true,
  });
  expect(await servers.call('mcp__slow__wait', { fast: true }, limits)).toMatchObject({ text: 'fast' });
  await servers.close();
});

/** A server of the SDK with one tool that returns a header of the request. */
function newServer(): McpServer {
  const server = new McpServer({ name: 's', version: '1' });
  const say = (text: string) => ({ content: [{ type: 'text' as const, text }] });
  server.registerTool('header', { description: 'h', inputSchema: { name: z.string() } }, ({ name }, { requestInfo }) =>
    say(`${name} is ${requestInfo?.headers[name]}`),
  );
  return server;
}

async function listen(answer: (request: IncomingMessage, response: ServerResponse) => Promise<void>): Promise<Server> {
  const server = createServer((request, response) => void answer(request, response));
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  return server;
}

it.each(['streamable-http', 'sse'] as const)(
  'reaches a server with the connections of the box, and sends its headers (%s)',
  async (transport) => {
    const sse = new Map<string, SSEServerTransport>();
    const server = await listen(async (request, response) => {
      const { pathname, searchParams } = new URL(request.url ?? '', 'http://s');
      if (transport === 'streamable-http') {
        const http = new StreamableHTTPServerTransport();
        await newServer().connect(http as Parameters<McpServer['connect']>[0]);
        await http.handleRequest(request, response);
      } else if (pathname === '/mcp') {
        const opened = new SSEServerTransport('/said', response);
        sse.set(opened.sessionId, opened);
        await newServer().connect(opened);
      } else await sse.get(searchParams.get('sessionId') ?? '')?.handlePostMessage(request, response);
    });
    const { port } = server.address() as AddressInfo;
    const dialed: string[] = [];
    const dial: ToolServersPlace['dial'] = async (host, to) => {
      dialed.push(`${host}:${to}`);
      return connect(port, '127.0.0.1');
    };
    const notes: ToolServer = {
      name: 'notes',
      transport,
      url: 'http://notes.test:81/mcp',
      headers: { 'x-key': 'secret' },
    };
    const servers = new ToolServers([notes], { ...place, dial });
    await servers.begin();
    expect(await servers.call('mcp__notes__header', { name: 'x-key' }, limits)).toMatchObject({
      text: 'x-key is secret',
    });
    expect(new Set(dialed)).toEqual(new Set(['notes.test:81']));
    await servers.close();
    server.closeAllConnections();
    server.close();
  },
);

it('waits for a server that does not listen yet', async () => {
  const server = await listen(async (request, response) => {
    const http = new StreamableHTTPServerTransport();
    await newServer().connect(http as Parameters<McpServer['connect']>[0]);
    await http.handleRequest(request, response);
  });
  const { port } = server.address() as AddressInfo;
  let tries = 0;
  const dial: ToolServersPlace['dial'] = async () => {
    if (++tries < 3) throw new Error('connection refused');
    return connect(port, '127.0.0.1');
  };
  const late: ToolServer = { name: 'late', transport: 'streamable-http', url: 'http://127.0.0.1/mcp', headers: {} };
  const servers = new ToolServers([late], { ...place, dial });
  await servers.begin();
  expect(servers.tools.map(({ name }) => name)).toEqual(['mcp__late__header']);
  await servers.close();
  server.closeAllConnections();
  server.close();
});

it('is an outage if a server is silent, or never lists its tools', async () => {
  const initialized = `process.stdin.once('data', (part) => console.log(JSON.stringify({ jsonrpc: '2.0', id: JSON.parse(part).id,
    result: { protocolVersion: JSON.parse(part).params.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 's', version: '1' } } })));`;
  for (const source of ['process.stdin.resume()', initialized]) {
    const servers = new ToolServers([counter('mute', ['-e', source])], { ...place, answerSeconds: 0.5 });
    await expect(servers.begin()).rejects.toThrow('The tool server mute of Harbor task t gave no answer in 0.5 s.');
    await servers.close();
  }
});

it('refuses two tools with one name', async () => {
  const servers = new ToolServers([counter('a b'), counter('a_b')], place);
  await expect(servers.begin()).rejects.toThrow('Two tools of the task have the name mcp__a_b__begin');
  await servers.close();
});
