import { execFile } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from 'vitest';

const ajet = path.join(import.meta.dirname, '../packages/cli/dist/main.js');
const run = promisify(execFile);
let experimentDir = '';

beforeAll(async () => {
  experimentDir = await mkdtemp(path.join(tmpdir(), 'tutorials-'));
});
afterAll(() => rm(experimentDir, { recursive: true }));

/** Enough to see that the files fit together; what the tutorials learn stands in their READMEs. */
const oneSmallStep = [
  'data.train_batch_size=2',
  'rollout.num_repeat=4',
  'trainer_common.total_training_steps=1',
  'trainer_common.val_before_train=false',
  'trainer_common.test_freq=0',
];

it.each([
  '01-frozen-lake/frozen_lake.yaml',
  '02-math-agent/math_agent.yaml',
  '03-werewolves/werewolves.yaml',
  '06-langgraph-graph/market.yaml',
  'countdown/countdown.yaml',
  'environments/environments.yaml',
  'learning-to-ask/learning_to_ask.yaml',
  'office/office.yaml',
  'documents/documents.yaml',
])('%s trains', async (yaml) => {
  const experiment = path.basename(yaml, '.yaml');
  await run('node', [
    ajet,
    '--conf',
    path.join(import.meta.dirname, yaml),
    ...oneSmallStep,
    `experiment_dir=${experimentDir}`,
  ]);
  const [time = ''] = await readdir(path.join(experimentDir, experiment));
  const lines = (await readFile(path.join(experimentDir, experiment, time, 'metrics.jsonl'), 'utf8'))
    .trim()
    .split('\n');
  const metrics = JSON.parse(lines.at(-1) ?? '') as Readonly<Record<string, number>>;
  expect(metrics).toMatchObject({ step: 1, episodes: 8, failed_episodes: 0 });
  expect(metrics['generated_tokens']).toBeGreaterThan(0);
});

it('nano imitates the transcripts of large-to-small, without what the judge found wrong', async () => {
  const yaml = path.join(import.meta.dirname, 'large-to-small/large_to_small.yaml');
  const settings = ['sft.epochs=1', 'sft.batch_size=128', `experiment_dir=${experimentDir}`];
  const { stdout } = await run('node', [ajet, 'sft', '--conf', yaml, '--json', ...settings]);
  const result = JSON.parse(stdout) as Readonly<Record<string, number>>;
  expect(result).toMatchObject({ examples: 319, held_out_examples: 28, dropped: { not_successful: 53 }, steps: 3 });
  expect(result['loss_after']).toBeLessThan(result['loss_before'] ?? 0);
});
