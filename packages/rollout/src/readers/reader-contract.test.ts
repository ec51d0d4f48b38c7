import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { CommonConfig } from '@agentjet/core';
import { afterAll, describe, it } from 'vitest';
import { readerCases } from '../testing/reader-cases.js';
import { jsonlDatasetFile } from './jsonl-dataset-file/registration.js';
import { randomDummy } from './random-dummy/registration.js';

const folder = mkdtempSync(path.join(tmpdir(), 'reader-contract-'));
const file = path.join(folder, 'tasks.jsonl');
writeFileSync(
  file,
  '{"task_id": "a", "main_query": "1 + 1?", "answer": 2}\n{"task_id": "b", "main_query": "1 + 2?"}\n',
);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const config = { trainerCommon: { seed: 3 } } as CommonConfig;

describe.each([
  [
    'jsonl_dataset_file',
    () => jsonlDatasetFile.open({ training: { filePath: file }, validation: { filePath: file } }, { config }),
  ],
  ['random_dummy', () => randomDummy.open({ training: { numTasks: 5 }, validation: { numTasks: 2 } }, { config })],
])('%s', (_, open) => {
  for (const { name, run } of readerCases(open)) it(name, run);
});
