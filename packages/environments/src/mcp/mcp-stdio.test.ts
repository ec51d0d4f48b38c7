import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { EnvironmentError, EnvironmentOutage, type Task } from '@agentjet/core';
import { isProcessAlive } from '@agentjet/core/processes';
import { afterAll, expect, it } from 'vitest';
import { openMcp, type McpOptions } from './mcp-environment.js';

const folder = mkdtempSync(path.join(tmpdir(), 'mcp-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const log = path.join(folder, 'log');
const program = path.join(import.meta.dirname, '../../test-servers/counter-stdio.mjs');
const hostile = path.join(import.meta.dirname, '../../test-servers/hostile-stdio.mjs');
const task: Task = { taskId: 'a', mainQuery: 'count', initMessages: [], metadata: {} };
const { signal } = new AbortController();

function open(more: Partial<McpOptions> = {}) {
  const base = { command: process.execPath, args: [program], env: { COUNTER_LOG: log }, cwd: null };
  const options = { ...base, openTool: 'begin', evaluateTool: 'score', tools: null, ...more } as McpOptions;
  return openMcp(options).open(task, { seed: 1, signal, episodeId: 'e' });
}

it('a program over stdio is a session: its tools are the agent’s, and it ends with the session', async () => {
  const session = await open();
  expect(session.observation).toMatchObject({ text: 'a at 0' });
  expect(session.tools.map(({ name }) => name)).toEqual(['act']);
  expect(session.tools[0]?.parameters).toMatchObject({ type: 'object', properties: { words: { type: 'string' } } });
  expect(await session.call?.('act', { words: 'one' })).toMatchObject({ text: 'one at 1' });
  expect(await session.call?.('score', {})).toMatchObject({ isError: true, text: expect.stringContaining('no tool') });
  expect(await session.evaluate?.()).toEqual({ reward: 0.2, isSuccess: false });
  await session.close();
  const pid = Number(/started (\d+)/.exec(readFileSync(log, 'utf8'))?.[1]);
  expect(isProcessAlive({ pid })).toBe(false);
});

it('arguments that the tool refuses are an answer for the agent', async () => {
  const session = await open();
  const answered = await session.call?.('act', { words: 5 }).catch((error: unknown) => error);
  if (answered instanceof Error) expect(answered).toBeInstanceOf(EnvironmentError);
  else expect(answered).toMatchObject({ isError: true });
  expect(await session.call?.('act', { words: 'two' })).toMatchObject({ text: 'two at 1' });
  await session.close();
});

it('a program that dies is an outage', async () => {
  const session = await open();
  await expect(session.call?.('act', { words: 'die' })).rejects.toThrow(EnvironmentOutage);
  await session.close();
});

it('a program that is not there is an outage that names it', async () => {
  await expect(open({ command: '/no/such/program', args: [] } as Partial<McpOptions>)).rejects.toThrow(
    /no\/such\/program/,
  );
});

it('a tool that is named and does not exist is said, with those that do', async () => {
  await expect(open({ tools: ['jump'] })).rejects.toThrow(/no tool "jump"; it has begin, act, score/);
});

it('has no verdict without a tool that gives one', async () => {
  const session = await open({ evaluateTool: null });
  expect(session.evaluate).toBeUndefined();
  await session.close();
});

/** Returns the answer of a hostile program to a call of its tool, or undefined if none came in half a second. */
async function askHostile(attack: string): Promise<unknown> {
  const session = await open({ args: [hostile], env: { ATTACK: attack }, openTool: null, evaluateTool: null });
  const late = AbortSignal.timeout(500);
  const wait = new Promise((resolve) => late.addEventListener('abort', () => resolve(undefined)));
  const given = session.call?.('act', {}).catch((error: unknown) => error);
  const first = await (attack === 'flood' ? given : Promise.race([given, wait]));
  await session.close();
  if (first === undefined) await expect(given).resolves.toMatchObject({ message: expect.stringMatching(/closed/) });
  return first;
}

it.each([
  ['flood', /more than 10485760 bytes/],
  ['nest', /nests more than 256 lists and objects/],
])('an answer that is too much is an outage that says so (%s)', async (attack, words) => {
  const error = await askHostile(attack);
  expect(error).toBeInstanceOf(EnvironmentOutage);
  expect(error).toMatchObject({ message: expect.stringMatching(words) });
});

it.each(['drip', 'foreign'])(
  'what answers nothing that was asked is waited for, until the session ends (%s)',
  async (attack) => {
    expect(await askHostile(attack)).toBeUndefined();
  },
);

it('lines that are not messages are skipped', async () => {
  expect(await askHostile('nonsense')).toMatchObject({ text: 'said in spite of it' });
});
