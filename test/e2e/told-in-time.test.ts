import path from 'node:path';
import { beforeAll, expect, it } from 'vitest';
import { toJsonLines } from './support/job-files.js';
import { createJobFolder, createScratchFolder } from './support/job-folder.js';
import { onlyRun, readEpisodes, readMetrics, readRows } from './support/read-run.js';
import { runAjet } from './support/run-ajet.js';
import { writeTinyModel } from './support/tiny-model.js';

let modelDir = '';
beforeAll(async () => {
  modelDir = await writeTinyModel(path.join(createScratchFolder(), 'model'));
});

const tasks = (prefix: string) =>
  toJsonLines(
    ['sum', 'sum', 'date'].map((kind, at) => ({
      task_id: `${prefix}${at}`,
      main_query: `say ${prefix} ${at}`,
      metadata: { kind, answer: at },
    })),
  );

it('a run reports success with its interval, by kind, and as sampled in training; its change is by task', async () => {
  const folder = createJobFolder(modelDir, { 'train.jsonl': tasks('train'), 'test.jsonl': tasks('test') });
  const settings = [
    'trainer_common.total_training_steps=1',
    'trainer_common.val_sampled=2',
    'data.train_batch_size=3',
    'task_reader.jsonl_dataset_file.validation.file_path=test.jsonl',
  ];
  const { code, stdout, stderr } = await runAjet(folder, ['--conf', 'job.yaml', ...settings]);
  expect(code, stderr).toBe(0);
  expect(stdout).toMatch(/evaluation before training: success .* \(95% .*at temperature 1 .*temperature 0,/);
  const run = onlyRun(folder);
  const evaluations = readRows(path.join(run, 'evaluations.jsonl'));
  expect(evaluations).toHaveLength(2);
  expect(evaluations[0]).toMatchObject({ episodes: 3, sampled_episodes: 6, temperature: 0, sampled_temperature: 1 });
  expect(evaluations[0]).toMatchObject({ 'tasks/sum': 2, 'tasks/date': 1 });
  expect(evaluations[0]).not.toHaveProperty('success_change');
  expect(evaluations[1]).toMatchObject({ success_change_since: 0, success_change_tasks: 3 });
  expect(readMetrics(run)[0]).toMatchObject({ 'tasks/sum': 2, 'tasks/date': 1, success_low: expect.any(Number) });
  expect(readEpisodes(run)[0]).toMatchObject({
    task_metadata: { kind: expect.any(String), answer: expect.any(Number) },
  });
});
