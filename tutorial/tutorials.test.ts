import { execFile } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { serveTunedModel } from '@agentjet/models';
import { afterAll, beforeAll, expect, it } from 'vitest';

const ajet = path.join(import.meta.dirname, '../packages/cli/dist/main.js');
const run = promisify(execFile);
let experimentDir = '';

beforeAll(async () => {
  experimentDir = await mkdtemp(path.join(tmpdir(), 'tutorials-'));
});
afterAll(() => rm(experimentDir, { recursive: true }));

/**
 * Settings of a run of one small step. It shows that the files fit together; the READMEs have the results of full runs.
 */
const oneSmallStep = [
  'data.train_batch_size=2',
  'rollout.num_repeat=4',
  'trainer_common.total_training_steps=1',
  'trainer_common.val_before_train=false',
  'trainer_common.test_freq=0',
  'onnx.num_threads=1',
];

const argsOf = (yaml: string, settings: readonly string[] = []): readonly string[] => [
  '--conf',
  path.join(import.meta.dirname, yaml),
  ...oneSmallStep,
  ...settings,
  `experiment_dir=${experimentDir}`,
];

/** Returns the last figures of the only run of an experiment. */
async function readLast(experiment: string): Promise<Readonly<Record<string, number>>> {
  const folder = path.join(experimentDir, experiment);
  const [time = ''] = (await readdir(folder)).filter((name) => /^\d{4}-/.test(name));
  const text = await readFile(path.join(folder, time, 'metrics.jsonl'), 'utf8');
  return JSON.parse(text.trim().split('\n').at(-1) ?? '') as Readonly<Record<string, number>>;
}

/** Returns the figures of a run of one step. */
async function trainOneStep(yaml: string, settings: readonly string[] = []): Promise<Readonly<Record<string, number>>> {
  await run('node', [ajet, ...argsOf(yaml, settings)]);
  return readLast(path.basename(yaml, '.yaml'));
}

const trained = [
  'frozen-lake/frozen_lake.yaml',
  'math-agent/math_agent.yaml',
  'werewolves/werewolves.yaml',
  'langgraph-graph/market.yaml',
  'countdown/countdown.yaml',
  'from-a-teacher/from_a_teacher.yaml',
  'environments/environments.yaml',
  'learning-to-ask/learning_to_ask.yaml',
  'office/office.yaml',
  'documents/documents.yaml',
];

/** Tutorials that are tested with one step of nano. Their own models have 500 MB, and one of them needs a GPU. */
const trainedWithNano = [
  'real-model/real_model.yaml',
  'real-tools/real_tools.yaml',
  'json-extraction/json_extraction.yaml',
  'two-players/two_players.yaml',
  'typed-tools/typed_tools.yaml',
  'typed-tools/typed_tools_strict.yaml',
  'typed-tools/typed_tools_laptop.yaml',
];

/** Their students, which nano teaches. */
const taughtByNano = ['smollm2', 'typed_tools'] as const;

it('every tutorial trains', async () => {
  // All commands run in one process, which saves a second for each.
  const short = 'trainer_common.optim.lr_warmup_steps=0';
  const here = ['model.path=nano', 'backbone=onnx', 'rollout.failed_episode_policy=zero_reward', short];
  const commands = [
    ...trained.map((yaml) => argsOf(yaml)),
    ...trainedWithNano.map((yaml) => argsOf(yaml, here)),
    ...taughtByNano.map((name) => argsOf(`from-a-teacher/${name}.yaml`, [...here, 'teacher.model=nano'])),
  ];
  const each = path.join(import.meta.dirname, '../test/e2e/support/run-each.mjs');
  const program = path.join(path.dirname(ajet), 'program.js');
  await run('node', [each, program, JSON.stringify(commands)], { maxBuffer: 1 << 28 });
  const experiments = [...trained, ...trainedWithNano].map((yaml) => path.basename(yaml, '.yaml'));
  for (const experiment of [...experiments, ...taughtByNano.map((name) => `from_a_teacher_${name}`)]) {
    const metrics = await readLast(experiment);
    expect(metrics, experiment).toMatchObject({ step: 1, episodes: 8, failed_episodes: 0 });
    expect(metrics['generated_tokens'], experiment).toBeGreaterThan(0);
  }
});

it('learning-to-ask trains by a rule and by the verdicts of a small model that is served', async () => {
  const judge = await serveTunedModel(path.join(import.meta.dirname, 'learning-to-ask/judge/model'), {
    port: 0,
    apiKey: null,
  });
  const metrics = await trainOneStep('learning-to-ask/learning_to_ask_llm.yaml', [
    `task_judge.llm.base_url=${judge.baseUrl}`,
  ]);
  await judge.close();
  expect(metrics).toMatchObject({ step: 1, episodes: 8 });
  const failed = metrics['failed_episodes'] ?? 8;
  expect(failed).toBeLessThanOrEqual(1); // a verdict without its code does not count
  const manner = metrics['judge/llm'] ?? 0;
  const found = metrics['judge/FactsJudge'] ?? 0;
  expect(Math.abs(manner - (metrics['judge/RuleJudge/one_question'] ?? 0))).toBeLessThan(0.15);
  expect(metrics['reward_mean']).toBeCloseTo(((0.7 * found + 0.3 * manner) * (8 - failed)) / 8);
});

it('feedback trains on what users corrected and praised, and not on what they only disliked', async () => {
  const traces = path.join(experimentDir, 'week.jsonl');
  const say = (id: number, question: string, feedback: object) =>
    JSON.stringify({ id, question, answer: '6', feedback });
  const lines = [
    say(1, 'Ann has 12 nuts and loses 7. How many nuts are left?', { thumb: 'down', correction: '5' }),
    say(2, 'Ben fills 3 bags with 2 pens each. How many pens in the bags?', { thumb: 'up' }),
    say(3, 'Dan has 30 eggs and finds 4 more. How many eggs are there now?', { thumb: 'down' }),
  ];
  await writeFile(traces, lines.join('\n'));
  const metrics = await trainOneStep('feedback/feedback.yaml', [`task_reader.feedback_tracing.sources=[${traces}]`]);
  expect(metrics).toMatchObject({ step: 1, episodes: 8, failed_episodes: 0 });
  const [time = ''] = (await readdir(path.join(experimentDir, 'feedback'))).filter((name) => /^\d{4}-/.test(name));
  const card = await readFile(path.join(experimentDir, 'feedback', time, 'tasks.json'), 'utf8');
  expect(JSON.parse(card)).toMatchObject({ training: { tasks: 2 }, evaluation: { tasks: 100 } });
});

it('nano imitates the transcripts of large-to-small, without what the judge found wrong', async () => {
  const yaml = path.join(import.meta.dirname, 'large-to-small/large_to_small.yaml');
  const settings = ['sft.epochs=1', 'sft.batch_size=128', `experiment_dir=${experimentDir}`];
  const { stdout } = await run('node', [ajet, 'sft', '--conf', yaml, '--json', ...settings]);
  const result = JSON.parse(stdout) as Readonly<Record<string, number>>;
  expect(result).toMatchObject({ examples: 319, held_out_examples: 28, dropped: { not_successful: 53 }, steps: 3 });
  expect(result['loss_after']).toBeLessThan(result['loss_before'] ?? 0);
});

it('the index names every tutorial', async () => {
  const entries = await readdir(import.meta.dirname, { withFileTypes: true });
  const folders = entries.filter((entry) => entry.isDirectory()).map(({ name }) => name);
  const index = await readFile(path.join(import.meta.dirname, 'README.md'), 'utf8');
  expect(folders.filter((name) => !index.includes(`](${name})`))).toEqual([]);
});
