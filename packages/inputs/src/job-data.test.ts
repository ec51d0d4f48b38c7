import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { ConfigError, type Task } from '@agentjet/core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { TaskReader } from '@agentjet/rollout';
import { checkReader } from './check-reader.js';
import { readJobData, type JobData } from './job-data.js';
import { readTasks } from './read-tasks.js';
import { collectTasks } from './collect-tasks.js';

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'ajet-data-'));
  writeFileSync(path.join(folder, 'train.jsonl'), '{"task_id":"f","main_query":"from a file"}\n');
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const task = { taskId: 'a', mainQuery: 'x' };

const given = (taskId: string): Task => ({ taskId, mainQuery: 'x', initMessages: [], metadata: {} });

async function idsOf(source: AsyncIterable<Task>): Promise<readonly string[]> {
  return (await collectTasks(source, null)).map(({ taskId }) => taskId);
}

it('a file for one part and a list for the other are both read', async () => {
  const given = readJobData({ training: path.join(folder, 'train.jsonl'), validation: [task] });
  if (!('reader' in given)) throw new Error('a reader was expected');
  const reader = given.reader as TaskReader;
  expect([await idsOf(reader.trainingTasks()), await idsOf(reader.evaluationTasks())]).toEqual([['f'], ['a']]);
});

it('files, counts and readers stay what they are', () => {
  const reader = { trainingTasks: async function* () {}, evaluationTasks: async function* () {} };
  expect(readJobData({ training: 'a.jsonl' })).toMatchObject({
    config: {
      taskReader: {
        type: 'jsonl_dataset_file',
        jsonlDatasetFile: { training: { filePath: 'a.jsonl' }, validation: { filePath: null } },
      },
    },
  });
  expect(readJobData({ type: 'random_dummy', training: 7 })).toEqual({
    config: { taskReader: { type: 'random_dummy', randomDummy: { training: { numTasks: 7 } } } },
  });
  expect(readJobData(reader)).toEqual({ reader });
});

it.each<[string, unknown, string, RegExp]>([
  ['nothing', undefined, 'bad_data', /setData\(\) got undefined\. Pass \{ training, validation \}/],
  ['no training tasks', {}, 'no_tasks', /got no training tasks/],
  ['a list', [task], 'no_tasks', /got no training tasks/],
  ['a number of tasks without their kind', { training: 5 }, 'bad_data', /got 5 as training tasks/],
  ['an object for a list', { training: [task], validation: {} }, 'bad_data', /got an object as validation tasks/],
  ['an unknown kind', { type: 'sql', training: 'x' }, 'bad_data', /got the type "sql"/],
  [
    'tasks for the hub',
    { type: 'hf', datasetPath: 'a/b', training: 'x' },
    'bad_data',
    /training or validation for the type "hf"/,
  ],
  ['no name for the hub', { type: 'hf' }, 'bad_data', /got undefined as datasetPath for the type "hf"/],
])('%s is refused', (_, data, code, message) => {
  expect(() => readJobData(data as JobData)).toThrow(ConfigError);
  expect(() => readJobData(data as JobData)).toThrow(message);
  expect(() => readJobData(data as JobData)).toThrow(expect.objectContaining({ code }));
});

it.each<[string, TaskReader, RegExp]>([
  [
    'throws at once',
    {
      trainingTasks: () => {
        throw new Error('no database');
      },
      evaluationTasks: async function* () {},
    },
    /^The task reader failed: no database/,
  ],
  [
    'returns no tasks',
    { trainingTasks: () => 5 as never, evaluationTasks: async function* () {} },
    /trainingTasks\(\) of the task reader returned 5, which is not an iterable/,
  ],
  [
    'yields an id twice',
    {
      trainingTasks: async function* () {
        yield* [given('a'), given('a')];
      },
      evaluationTasks: async function* () {},
    },
    /Task id "a" of training task 2 was used by task 1 already/,
  ],
  [
    'yields an empty id',
    {
      trainingTasks: async function* () {
        yield given('');
      },
      evaluationTasks: async function* () {},
    },
    /The training task 1 has taskId ""/,
  ],
])('a reader that %s is said so', async (_, reader, message) => {
  await expect(idsOf(checkReader(reader).trainingTasks())).rejects.toThrow(message);
});

it('what a reader throws comes out as an error of the reader', async () => {
  const broken = async function* (): AsyncGenerator<Task> {
    yield { ...task, initMessages: [], metadata: {} };
    throw new Error('the database is gone');
  };
  await expect(idsOf(broken())).rejects.toMatchObject({
    code: 'reader_failed',
    message: expect.stringMatching(/^The task reader failed: the database is gone/),
  });
  for await (const first of readTasks(broken())) {
    expect(first.taskId).toBe('a');
    break;
  }
});
