import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Task } from '@agentjet/core';
import { startLoopbackHub, type LoopbackHub } from '@agentjet/model-hub/testing';
import type { TaskReader } from '@agentjet/rollout';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { tableReaderCases } from '../../testing/table-reader-cases.js';
import { createDatasetReader, type DatasetReaderOptions } from './create-dataset-reader.js';

const fixtures = path.join(import.meta.dirname, '../../rows/fixtures');
const parquet = (codec: string): Uint8Array => readFileSync(path.join(fixtures, `rows-${codec}.parquet`));
const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);
const lines = (from: number, count: number): Uint8Array =>
  bytes(
    Array.from({ length: count }, (_, at) => `{"question": "What is ${from + at}?", "answer": "#### ${at}"}\n`).join(
      '',
    ),
  );

const id = 'acme/sums';
const converted = {
  kind: 'dataset',
  id,
  branch: 'refs/convert/parquet',
  files: {
    'main/train/0000.parquet': parquet('zstd'),
    'main/train/0001.parquet': parquet('snappy'),
    'socratic/train/0000.parquet': parquet('gzip'),
    'socratic/test/0000.parquet': parquet('lz4'),
  },
} as const;
const own = {
  kind: 'dataset',
  id: 'acme/lines',
  files: {
    'README.md': bytes('# lines'),
    'dataset_infos.json': bytes('{}'),
    'data/train-00000-of-00002.jsonl': lines(0, 3),
    'data/train-00001-of-00002.jsonl': lines(3, 2),
    'data/train.csv': bytes('question,answer\nnot read,1\n'),
    'data/lines_test.jsonl': lines(9, 1),
  },
} as const;

let dir: string;
let hub: LoopbackHub;
beforeEach(async () => {
  dir = mkdtempSync(path.join(tmpdir(), 'dataset-reader-'));
  hub = await startLoopbackHub(converted, own);
});
afterEach(async () => {
  await hub.close();
  rmSync(dir, { recursive: true, force: true });
});

function open(options: Partial<DatasetReaderOptions>): TaskReader {
  return createDatasetReader({
    datasetPath: 'acme/lines',
    datasetName: null,
    trainingSplit: 'train',
    validationSplit: 'test',
    revision: null,
    fields: { main_query: 'question' },
    limit: null,
    cacheDir: null,
    offline: false,
    split: { evaluation: 0, by: 'content' },
    allowOverlap: true,
    duplicates: 'keep',
    similarity: 0.8,
    onNotice: () => undefined,
    settings: { endpoint: hub.endpoint, token: undefined, cacheDir: dir, isOffline: false, stallMs: 10_000 },
    ...options,
  });
}

async function idsOf(tasks: AsyncIterable<Task>): Promise<readonly string[]> {
  const ids: string[] = [];
  for await (const { taskId } of tasks) ids.push(taskId);
  return ids;
}

describe('a data set', () => {
  for (const { name, run } of tableReaderCases(() => open({}))) it(name, run);
});

it('is read from the Parquet files of the hub, shard after shard, with ids that say where a row is from', async () => {
  const reader = open({ datasetPath: id, datasetName: 'main', validationSplit: null });
  const ids = await idsOf(reader.trainingTasks());
  expect([ids.length, ids[0], ids[19]]).toEqual([20, 'acme/sums/main/train/0', 'acme/sums/main/train/19']);
  const card = (await reader.describe?.())?.training;
  expect(card?.sources).toEqual([
    {
      kind: 'huggingface_dat_repo',
      location: 'acme/sums: main/train/0000.parquet',
      revision: expect.stringMatching(/^[0-9a-f]{40}$/),
      sha256: expect.stringMatching(/^[0-9a-f]{64}$/),
    },
    expect.objectContaining({ location: 'acme/sums: main/train/0001.parquet' }),
  ]);
  expect(hub.requests.filter((request) => request.includes('socratic'))).toEqual([]); // only the needed files
});

it('is read from the files of the repository if the hub has no Parquet of it', async () => {
  const reader = open({});
  expect(await idsOf(reader.trainingTasks())).toEqual([0, 1, 2, 3, 4].map((at) => `acme/lines/train/${at}`));
  expect(await idsOf(reader.evaluationTasks())).toEqual(['acme/lines/test/0']);
  expect(hub.requests.some((request) => request.includes('train.csv'))).toBe(false);
});

it('asks nothing of the hub for what the cache has, and says offline what it lacks', async () => {
  const training = (offline: boolean) => idsOf(open({ offline, validationSplit: null }).trainingTasks());
  await training(false);
  const asked = hub.requests.length;
  for (const offline of [false, true]) await training(offline);
  expect(hub.requests).toHaveLength(asked);
  await expect(idsOf(open({ offline: true }).evaluationTasks())).rejects.toThrow(
    /Not all of the data set acme\/lines is in .* must not be downloaded/,
  );
  expect(hub.requests).toHaveLength(asked);
  expect(await idsOf(open({}).evaluationTasks())).toHaveLength(1);
});

it('reads a snapshot that another program made, without a request if all shards are there', async () => {
  const folder = path.join(dir, 'datasets--other--set');
  const data = path.join(folder, 'snapshots/abc/data');
  mkdirSync(data, { recursive: true });
  mkdirSync(path.join(folder, 'refs'));
  writeFileSync(path.join(folder, 'refs/main'), 'abc');
  writeFileSync(path.join(data, 'train-00000-of-00002.jsonl'), lines(0, 2));
  const reader = () => open({ datasetPath: 'other/set', validationSplit: null });
  await expect(idsOf(reader().trainingTasks())).rejects.toThrow(/There is no data set other\/set/); // it asked the hub
  writeFileSync(path.join(data, 'train-00001-of-00002.jsonl'), lines(2, 2));
  const asked = hub.requests.length;
  expect(await idsOf(reader().trainingTasks())).toHaveLength(4);
  expect(hub.requests).toHaveLength(asked);
});

/** Reads a data set of one file in an empty cache. The first download breaks after `size` bytes. Returns what the hub sent. */
async function sentIfCutAfter(size: number, options: Partial<DatasetReaderOptions>, numTasks: number): Promise<number> {
  rmSync(dir, { recursive: true, force: true });
  let isFirst = true;
  hub.cutAfter = () => {
    const limit = isFirst ? size : Number.POSITIVE_INFINITY;
    isFirst = false;
    return limit;
  };
  const sent = hub.sentBytes();
  expect(await idsOf(open({ ...options, validationSplit: null }).trainingTasks())).toHaveLength(numTasks);
  return hub.sentBytes() - sent;
}

it('resumes at the byte where a download of Parquet broke', async () => {
  const file = converted.files['socratic/train/0000.parquet'];
  for (let size = 1; size < file.length; size += 1511)
    expect(await sentIfCutAfter(size, { datasetPath: id, datasetName: 'socratic' }, 10)).toBe(file.length);
});

it('resumes at each byte of a small file', async () => {
  const file = own.files['data/lines_test.jsonl'];
  for (let size = 0; size < file.length; size++)
    expect(await sentIfCutAfter(size, { datasetPath: own.id, trainingSplit: 'test' }, 1)).toBe(file.length);
});

it.each([
  [{ datasetPath: id }, /acme\/sums has the subsets main, socratic\. Set dataset_name/],
  [{ datasetPath: id, datasetName: 'mian' }, /has the subsets main, socratic, not "mian"\. Did you mean "main"\?/],
  [
    { datasetPath: id, datasetName: 'socratic', trainingSplit: 'training' },
    /\(socratic\) has the splits test, train, not "training"/,
  ],
  [{ revision: 'v9' }, /acme\/lines has no revision v9/],
  [{ datasetPath: 'acme/none' }, /There is no data set acme\/none at/],
  [{ datasetPath: '../no-such-folder' }, /is neither a folder, a file, nor a name on the hub/],
  [
    { fields: { main_query: 'qestion' } },
    /no column "qestion"\. The columns are question, answer\. Did you mean "question"/,
  ],
])('says what is wrong with %j', async (options, message) => {
  await expect(idsOf(open({ validationSplit: null, ...options }).trainingTasks())).rejects.toThrow(message);
});

it('reads a revision by its name, the first rows alone, and writes down the commit', async () => {
  hub.put({ ...own, branch: 'v2', files: { 'train.jsonl': lines(100, 5) } });
  const reader = open({ revision: 'v2', limit: 2, validationSplit: null });
  const tasks = [];
  for await (const { mainQuery } of reader.trainingTasks()) tasks.push(mainQuery);
  expect(tasks).toEqual(['What is 100?', 'What is 101?']);
  const [source] = (await reader.describe?.())?.training.sources ?? [];
  expect(source?.revision).toMatch(/^[0-9a-f]{40}$/);
});

it('reads a folder and a file of that name first', async () => {
  const folder = path.join(dir, 'local');
  mkdirSync(path.join(folder, 'easy/train'), { recursive: true });
  writeFileSync(path.join(folder, 'easy/train/0000.parquet'), parquet('brotli'));
  writeFileSync(path.join(folder, 'easy/test.jsonl'), lines(0, 1));
  const reader = open({ datasetPath: folder });
  expect((await idsOf(reader.trainingTasks()))[9]).toBe('local/train/9');
  expect(await idsOf(reader.evaluationTasks())).toEqual(['local/test/0']);
  const file = open({ datasetPath: path.join(folder, 'easy/train/0000.parquet') });
  expect(await idsOf(file.trainingTasks())).toHaveLength(10);
  expect(await idsOf(file.evaluationTasks())).toEqual([]);
  expect(hub.requests).toEqual([]);
});
