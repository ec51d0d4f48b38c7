import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, it } from 'vitest';
import { RunFolder } from './run-folder.js';

const dir = mkdtempSync(path.join(tmpdir(), 'tasks-record-'));

it('records the tasks, and reports sources that have changed', async () => {
  const notices: string[] = [];
  const folder = new RunFolder(dir, { onNotice: (message) => notices.push(message) });
  const card = (sum: string) => ({
    training: { tasks: 3, sources: [{ location: 'a.jsonl', sha256: sum }], dropped: [{ reason: 'twice', count: 1 }] },
    evaluation: { tasks: 0, sources: [{ location: 'code', sha256: null }] },
  });
  await folder.recordTasks(card('1'));
  await folder.recordTasks(card('1'));
  expect(notices).toEqual([]);
  await folder.recordTasks(card('2'));
  expect(notices).toEqual([expect.stringMatching(/^The tasks in a\.jsonl have changed since the run began/)]);
  expect(JSON.parse(readFileSync(path.join(dir, 'tasks.json'), 'utf8'))).toEqual(card('2'));
  writeFileSync(path.join(dir, 'tasks.json'), 'torn');
  await folder.recordTasks(card('3'));
  expect(notices).toHaveLength(1);
});
