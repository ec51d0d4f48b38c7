import type { Task } from '@agentjet/core';
import type { Tuner } from '@agentjet/rollout';
import { openScriptedEpisode } from '@agentjet/rollout/testing';
import { expect, it } from 'vitest';
import { createInsideWorkflow } from './inside-workflow.js';

type Session = Awaited<ReturnType<Tuner['openEnvironment']>>;
type Order = Parameters<Session['run']>[0];

const task: Task = { taskId: 't', mainQuery: 'Repair it.', initMessages: [], metadata: {} };

it('gives a program in an environment its model and its task, and nothing of this machine', async () => {
  const endpointHost = { open: () => ({ baseUrl: 'http://127.0.0.1:1/v1', apiKey: 'key', model: 'm' }) };
  const { tuner } = openScriptedEpisode({ replies: [], endpointHost });
  const orders: Order[] = [];
  const session: Partial<Session> = {
    observation: { text: 'Repair it.' },
    connect: async (endpoint) => ({ ...endpoint, baseUrl: 'http://127.0.0.1:4711/v1' }),
    run: async (order) => {
      orders.push(order);
      return { status: 0, output: 'done\n', isOutOfTime: false };
    },
  };
  const work = createInsideWorkflow({ command: 'codex', args: ['exec', '{query}', '{query_file}'] });
  const output = await work(task, { ...tuner, openEnvironment: async () => session as Session });
  expect(output).toEqual({ metadata: { exit_code: 0, answer: 'done' } });
  const [order] = orders;
  expect(order?.command).toEqual(['codex', 'exec', 'Repair it.', '/logs/agent/home/query.txt']);
  expect(order?.env).toMatchObject({
    OPENAI_BASE_URL: 'http://127.0.0.1:4711/v1',
    OPENAI_API_KEY: 'key',
    ANTHROPIC_BASE_URL: 'http://127.0.0.1:4711',
    CODEX_HOME: '/logs/agent/home/codex',
    AJET_QUERY: 'Repair it.',
  });
  expect(Object.keys(order?.env ?? {}).filter((name) => /^(PATH|HOME|TMPDIR)$/.test(name))).toEqual([]);
  expect(order?.files).toMatchObject({
    '/logs/agent/home/query.txt': 'Repair it.',
    '/logs/agent/home/codex/config.toml': expect.stringContaining('base_url = "http://127.0.0.1:4711/v1"'),
  });
});

it('runs the program once for each step of a task', async () => {
  const endpointHost = { open: () => ({ baseUrl: 'http://127.0.0.1:1/v1', apiKey: 'key', model: 'm' }) };
  const { tuner } = openScriptedEpisode({ replies: [], endpointHost });
  const queries: unknown[] = [];
  const session: Partial<Session> = {
    observation: { text: 'Repair it.', data: { steps: 2 } },
    connect: async (endpoint) => endpoint,
    run: async ({ command, env }) => {
      queries.push([command[1], env?.['AJET_QUERY']]);
      return { status: queries.length, output: '', isOutOfTime: false };
    },
    step: async () => ({ observation: { text: 'Test it.' }, reward: 1, isDone: queries.length === 2 }),
  };
  const work = createInsideWorkflow({ command: 'codex', args: ['{query}'] });
  const output = await work(task, { ...tuner, openEnvironment: async () => session as Session });
  expect(queries).toEqual([
    ['Repair it.', 'Repair it.'],
    ['Test it.', 'Test it.'],
  ]);
  expect(output).toEqual({ metadata: { exit_code: 2, answer: '' } });
});

it('configures the tool servers of an environment for coding agents, and keeps headers out of files', async () => {
  const endpointHost = { open: () => ({ baseUrl: 'http://127.0.0.1:1/v1', apiKey: 'key', model: 'm' }) };
  const { tuner } = openScriptedEpisode({ replies: [], endpointHost });
  const orders: Order[] = [];
  const session: Partial<Session> = {
    observation: { text: 'Repair it.' },
    toolServers: [
      { name: 'notes', transport: 'stdio', command: 'notes', args: ['--all'] },
      { name: 'web.1', transport: 'streamable-http', url: 'http://w/mcp', headers: { Authorization: 'Bearer secret' } },
      { name: 'old', transport: 'sse', url: 'http://o/sse', headers: {} },
    ],
    connect: async (endpoint) => endpoint,
    run: async (order) => {
      orders.push(order);
      return { status: 0, output: '', isOutOfTime: false };
    },
  };
  const work = createInsideWorkflow({ command: 'agent', args: [] });
  await work(task, { ...tuner, openEnvironment: async () => session as Session });
  const [{ env = {}, files = {} } = { env: {}, files: {} }] = orders;
  const variable = 'AJET_TOOL_SERVER_1_HEADER_0';
  expect(env).toMatchObject({ [variable]: 'Bearer secret', MCP_CONNECTION_NONBLOCKING: '0' });
  expect(JSON.parse(files['/logs/agent/home/claude/.claude.json'] ?? '')).toEqual({
    mcpServers: {
      notes: { type: 'stdio', command: 'notes', args: ['--all'] },
      'web.1': { type: 'http', url: 'http://w/mcp', headers: { Authorization: `\${${variable}}` } },
      old: { type: 'sse', url: 'http://o/sse' },
    },
  });
  expect(files['/logs/agent/home/codex/config.toml']).toContain(
    [
      '[mcp_servers."notes"]',
      'command = "notes"',
      'args = ["--all"]',
      '[mcp_servers."web.1"]',
      'url = "http://w/mcp"',
      `env_http_headers = { "Authorization" = "${variable}" }`,
      '[mcp_servers."old"]',
      'url = "http://o/sse"',
    ].join('\n'),
  );
  expect(JSON.parse(env['OPENCODE_CONFIG_CONTENT'] ?? '')).toMatchObject({
    model: 'ajet/m',
    mcp: {
      notes: { type: 'local', command: ['notes', '--all'] },
      'web.1': { type: 'remote', url: 'http://w/mcp', oauth: false, headers: { Authorization: 'Bearer secret' } },
    },
  });
  expect(JSON.parse(env['AJET_TOOL_SERVERS'] ?? '')).toHaveLength(3);
  expect(JSON.stringify(files)).not.toContain('secret');
});
