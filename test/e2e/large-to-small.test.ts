import { appendFileSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { adamOptions, createTinyBackbone, TinkerServer } from '@agentjet/trainer/testing';
import { longIt } from '../long-tests.js';
import { toJsonLines } from './support/job-files.js';
import { createJobFolder, createScratchFolder } from './support/job-folder.js';
import { listCheckpoints, readMetrics, readRows } from './support/read-run.js';
import { runAjet, startAjet } from './support/run-ajet.js';
import { writeTinyModel } from './support/tiny-model.js';

/** Collects answers of another model over HTTP, trains a model on them, and continues with reinforcement learning. */
let server: Server;
let baseUrl: string;
let modelDir: string;
/** Requests whose last message contains this string are refused because their account has no credit. */
let unpaid = '';
let numCalls = 0;

beforeAll(async () => {
  server = createServer((request, response) => {
    let text = '';
    request.on('data', (chunk: Buffer) => (text += chunk.toString()));
    request.on('end', () => {
      numCalls++;
      const { messages } = JSON.parse(text) as { messages: readonly { content: string }[] };
      if (unpaid !== '' && messages.at(-1)?.content.includes(unpaid) === true) {
        response.statusCode = 402;
        response.end('{"error": {"message": "no credit is left"}}');
        return;
      }
      const isLazy = messages.at(-1)?.content.includes('3') === true; // so the agent fails at one task
      const message = { content: isLazy ? '-' : `abcdef ${messages.at(-1)?.content.slice(-1) ?? ''}` };
      response.end(JSON.stringify({ choices: [{ message, finish_reason: 'stop' }], usage: {} }));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
  modelDir = await writeTinyModel(path.join(createScratchFolder(), 'model'));
});
afterAll(() => server.close());

const collect = (...overrides: string[]): string[] => [
  '--conf',
  'job.yaml',
  '--backbone=debug',
  '--json',
  `debug.base_url=${baseUrl}`,
  'debug.model=large',
  'debug.collect=all',
  ...overrides,
];
const lastJson = (stdout: string) => JSON.parse(stdout.trim().split('\n').at(-1) ?? '') as Record<string, unknown>;
const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');

it('collects answers, imitates the good ones, and continues with reinforcement learning', async () => {
  const folder = createJobFolder(modelDir);
  const collected = await runAjet(folder, collect());
  expect(collected.stderr + String(collected.code)).toMatch(/0$/);
  const { run_dir: run, collected: counts } = lastJson(collected.stdout);
  expect(counts).toEqual({ episodes: 6, successes: 5, failed: 0, tasks: 6 });
  expect(collected.stderr).toMatch(
    /Collected 6 transcripts of 6 tasks: 5 succeeded, .*\nNext: ajet sft .*sft\.transcripts=/,
  );
  const lines = readFileSync(path.join(textOf(run), 'transcripts.jsonl'), 'utf8')
    .trim()
    .split('\n');
  expect(lines).toHaveLength(6);

  // now two training tasks have the same questions as the evaluation
  const again = toJsonLines([1, 2].map((at) => ({ task_id: `again${at}`, main_query: `say  ${at}` })));
  writeFileSync(path.join(folder, 'test.jsonl'), again);
  const imitated = await runAjet(folder, [
    'sft',
    '--conf',
    'job.yaml',
    '--json',
    `sft.transcripts=${textOf(run)}`,
    'sft.epochs=2',
    'sft.lr=2e-3',
  ]);
  const result = lastJson(imitated.stdout);
  expect(result).toMatchObject({ dropped: { not_successful: 1, held_out_task: 2 }, examples: 2, held_out_examples: 1 });
  expect(Number(result['loss_after'])).toBeLessThan(Number(result['loss_before']));
  expect(result).toMatchObject({ success: expect.any(Number), sampled_success: expect.any(Number) });
  expect(imitated.stderr).toMatch(/evaluation of .*: success .*\n.*(too weak to train on|Next: ajet)/);
  const metrics = readMetrics(textOf(result['run_dir']));
  expect(metrics.length).toBe(result['steps']);
  expect(metrics.at(-1)).toMatchObject({ epoch: 2, learning_rate: 0.002 });

  const learned = await runAjet(folder, [
    '--conf',
    'job.yaml',
    '--json',
    `model.path=${textOf(result['model_dir'])}`,
    'task_reader.jsonl_dataset_file.validation.file_path=null',
    'trainer_common.total_training_steps=1',
  ]);
  expect(learned.code).toBe(0);
  expect(lastJson(learned.stdout)).toMatchObject({ policy_version: 1 });
});

longIt('keeps what was collected before it was killed, and asks nothing twice', async () => {
  const folder = createJobFolder(modelDir);
  const before = numCalls;
  const first = lastJson((await runAjet(folder, collect('debug.collect=4'))).stdout);
  const file = path.join(textOf(first['run_dir']), 'transcripts.jsonl');
  appendFileSync(file, '{"episode_id":"train4-r0","mess'); // a kill may leave such an incomplete line
  const second = lastJson((await runAjet(folder, [...collect(), '--resume'])).stdout);
  expect(second).toMatchObject({ run_dir: first['run_dir'], collected: { episodes: 6 } });
  expect(numCalls - before).toBe(6);
  const ids = readFileSync(file, 'utf8')
    .trim()
    .split('\n')
    .map((line) => (JSON.parse(line) as { episode_id: string }).episode_id);
  expect(ids.toSorted()).toEqual(['train0-r0', 'train1-r0', 'train2-r0', 'train3-r0', 'train4-r0', 'train5-r0']);
});

longIt('says how many episodes an outage has cost, and runs them with --resume', async () => {
  const folder = createJobFolder(modelDir);
  unpaid = '5';
  const first = await runAjet(folder, collect('rollout.max_attempts=1', 'rollout.max_outage=1'));
  unpaid = '';
  expect(first.stderr).toMatch(/1 of 6 episodes are missing.*--resume runs them/);
  expect(lastJson(first.stdout)).toMatchObject({ collected: { episodes: 5, failed: 0 } });
  const second = await runAjet(folder, [...collect(), '--resume']);
  expect(second.stderr).not.toMatch(/are missing/);
  expect(lastJson(second.stdout)).toMatchObject({ collected: { episodes: 6 } });
});

/** Files in OpenAI's fine-tuning format. */
const chats = toJsonLines(
  Array.from({ length: 40 }, (_, index) => ({
    messages: [
      { role: 'user', content: `Say ${index % 20} in ${index}` },
      { role: 'assistant', content: `no ${index}`, weight: 0 },
      { role: 'user', content: 'Again' },
      { role: 'assistant', content: `abc ${index}` },
    ],
  })),
);
const sft = [
  'sft',
  '--conf',
  'job.yaml',
  'sft.transcripts=chats.jsonl',
  'sft.batch_size=2',
  'sft.epochs=5',
  'trainer_common.test_freq=9',
  '--json',
];
const withoutTimes = (rows: readonly object[]) =>
  rows.map((row) => Object.fromEntries(Object.entries(row).filter(([key]) => !key.startsWith('seconds'))));

longIt('kill -9 and --resume: the metrics of a run that was never killed, to the last digit', async () => {
  const folder = createJobFolder(modelDir, { 'chats.jsonl': chats });
  const whole = lastJson((await runAjet(folder, sft)).stdout);
  const running = startAjet(folder, sft);
  await running.waitFor(/step +7\//);
  running.child.kill('SIGKILL');
  await running.finished;
  const resumed = startAjet(folder, [...sft, '--resume']);
  await resumed.waitFor(/step +\d+\//);
  resumed.child.kill('SIGKILL');
  await resumed.finished;
  const { code, stdout, stderr } = await runAjet(folder, [...sft, '--resume']);
  expect(code, stderr).toBe(0);
  const result = lastJson(stdout);
  const runs = [whole, result].map(({ run_dir: run }) => textOf(run));
  expect(runs[0]).not.toBe(runs[1]);
  const [expected, found] = runs.map((run) => ({
    metrics: withoutTimes(readMetrics(run)),
    evaluations: withoutTimes(readRows(path.join(run, 'evaluations.jsonl'))),
  }));
  expect(found).toEqual(expected);
  expect(found?.evaluations.length).toBeGreaterThan(3);
  const weights = runs.map((run) =>
    readFileSync(path.join(run, 'checkpoints', listCheckpoints(run).at(-1) ?? '', 'model.safetensors')),
  );
  expect(weights[0]?.equals(weights[1] ?? Buffer.alloc(0))).toBe(true);
});

it('chooses its passes by the held-out loss, and its result is the checkpoint with the lowest one', async () => {
  const folder = createJobFolder(modelDir, { 'chats.jsonl': chats });
  const settings = ['sft.epochs=auto', 'sft.lr=0.05', 'sft.batch_size=18'];
  const { code, stdout, stderr } = await runAjet(folder, [...sft, ...settings]);
  expect(code, stderr).toBe(0);
  const result = lastJson(stdout);
  const evaluations = readRows(path.join(textOf(result['run_dir']), 'evaluations.jsonl'));
  const losses = evaluations.map((line) => Number(line['held_out_loss']));
  const best = losses.indexOf(Math.min(...losses));
  expect(losses.length - 1 - best === 2 || losses.length === 21).toBe(true);
  expect(result).toMatchObject({ best_step: evaluations[best]?.['step'], loss_after: losses[best] });
  expect(textOf(result['model_dir'])).toMatch(new RegExp(`step-0*${String(result['best_step'])}$`));
});

it('refuses to continue with other transcripts', async () => {
  const folder = createJobFolder(modelDir, { 'chats.jsonl': chats });
  await runAjet(folder, [...sft, 'sft.epochs=1']);
  writeFileSync(path.join(folder, 'chats.jsonl'), chats.replaceAll('abc', 'abd'));
  const { code, stderr } = await runAjet(folder, [...sft, '--resume']);
  expect([code, stderr]).toEqual([1, expect.stringMatching(/was given other transcripts/)]);
});

longIt('imitates on a server that speaks the Tinker API, and continues there from what it has learned', async () => {
  const folder = createJobFolder(modelDir, { 'chats.jsonl': chats });
  const config = JSON.parse(readFileSync(path.join(modelDir, 'config.json'), 'utf8')) as {
    readonly vocab_size: number;
  };
  const shape = { vocabSize: config.vocab_size, width: 6 };
  const onServer = await TinkerServer.start({
    open: async () => createTinyBackbone({ shape, seed: 1, optimizer: adamOptions(1e-3), contextLength: 256 }),
    contextLength: 256,
    models: [modelDir],
  });
  const server = ['--backbone=tinker', `tinker.base_url=${onServer.url}`, 'tinker.rank=0'];
  const imitate = async (...overrides: string[]) => {
    const oneStep = ['sft.epochs=1', 'sft.batch_size=36', 'sft.lr=2e-2'];
    const { code, stdout, stderr } = await runAjet(folder, [...sft, ...server, ...oneStep, ...overrides]);
    expect(code, stderr).toBe(0);
    return lastJson(stdout);
  };
  try {
    const first = await imitate();
    expect(Number(first['loss_after'])).toBeLessThan(Number(first['loss_before']));
    const second = await imitate(`model.path=${textOf(first['model_dir'])}`);
    expect(second['loss_before']).toBeCloseTo(Number(first['loss_after']), 4);
  } finally {
    await onServer.close();
  }
});
