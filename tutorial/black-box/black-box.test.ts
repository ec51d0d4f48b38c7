import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { AddressInfo } from 'node:net';
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { servePlayedModel } from '../played-model.js';
import { answer } from './large-model.js';
import { drawTasks, splitOf, writeFilesOf } from './repairs.js';
import { passesTest } from './test-judge.js';

const repair = { name: 'rest', left: 12, right: 7, operator: '-', written: '+' } as const;
const task = {
  taskId: 'a',
  mainQuery: 'Make test.js pass.',
  initMessages: [],
  metadata: { files: writeFilesOf(repair) },
};
const context = { episodeId: 'e', signal: new AbortController().signal, seed: 1, transcripts: [], environment: null };
const judge = async (files: Readonly<Record<string, string>>) =>
  (await passesTest.judge(task, { metadata: { files } }, context)).reward;

it.each([
  ['passes', 'rest = (a, b) => a - b', 1],
  ['fails', 'rest = (a, b) => a + b', 0],
  ['cannot be read', 'module.exports = (a, b', 0],
])('judges code that %s', async (_what, code, reward) => {
  expect(await judge({ 'code.js': code })).toBe(reward);
});

it('runs the test of the task, not the copy that the program had', async () => {
  expect(await judge({ 'code.js': 'rest = () => 0', 'test.js': '' })).toBe(0);
  expect(await judge({})).toBe(0);
});

it('draws repairs whose test fails, on the side that their ids belong to', async () => {
  for (const split of ['training', 'evaluation'] as const)
    for (const { taskId } of drawTasks(split, { seed: 1, count: 60 })) expect(splitOf(taskId)).toBe(split);
  for (const drawn of drawTasks('evaluation', { seed: 1, count: 3 })) {
    const { reward } = await passesTest.judge(drawn, { metadata: { files: drawn.metadata['files'] } }, context);
    expect(reward).toBe(0);
  }
});

type Message = { readonly role: string; readonly content: string; readonly tool_calls?: readonly object[] };
type Transcript = {
  readonly task: { readonly task_id: string };
  readonly reward: number;
  readonly messages: readonly Message[];
  readonly tools: readonly object[];
};

it('has transcripts of this program on training repairs alone, right and wrong ones', async () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'coder-'));
  for (const [name, text] of Object.entries(task.metadata.files)) writeFileSync(path.join(folder, name), text);
  const asked: { readonly messages: readonly Message[]; readonly tools: readonly object[] }[] = [];
  const server = await servePlayedModel('large', 0, (request) => {
    asked.push(request as never);
    return answer(request);
  });
  const { port } = server.address() as AddressInfo;
  const env = { OPENAI_BASE_URL: `http://127.0.0.1:${port}/v1`, OPENAI_API_KEY: 'k', OPENAI_MODEL: 'm' };
  const coder = path.join(import.meta.dirname, 'coder.mjs');
  await promisify(execFile)(process.execPath, [coder, task.mainQuery], { cwd: folder, env });
  server.close();
  rmSync(folder, { recursive: true });

  const told = asked
    .at(-1)
    ?.messages.filter(({ role }) => role === 'tool')
    .map(({ content }) => content);
  expect(told).toEqual(['rest(12, 7) is 19, not 5', 'rest = (a, b) => a + b', 'ok']);
  const lines = readFileSync(path.join(import.meta.dirname, 'transcripts.jsonl'), 'utf8')
    .trim()
    .split('\n');
  const transcripts = lines.map((line) => JSON.parse(line) as Transcript);
  expect([transcripts.length, transcripts.filter(({ reward }) => reward === 1).length]).toEqual([100, 38]);
  for (const { task: played, messages, tools } of transcripts) {
    expect(splitOf(played.task_id)).toBe('training');
    expect(messages[0]).toEqual(asked[0]?.messages[0]);
    expect(tools).toEqual(asked[0]?.tools);
  }
});
