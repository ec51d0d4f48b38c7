import { appendFile, mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { FollowedLines } from './follow-lines.js';

let dir: string;
let file: string;
beforeEach(async () => {
  dir = await mkdtemp(path.join(tmpdir(), 'studio-lines-'));
  file = path.join(dir, 'metrics.jsonl');
});
afterEach(() => rm(dir, { recursive: true, force: true }));

const stepsOf = (lines: FollowedLines): readonly unknown[] => lines.lines.map(({ step }) => step);

it('reads what was appended, and leaves a line without an end for the next time', async () => {
  const lines = new FollowedLines(file);
  expect(await lines.refresh()).toBe(false);
  await writeFile(file, '{"step":1}\n{"step":2}\n{"st');
  expect(await lines.refresh()).toBe(true);
  expect(stepsOf(lines)).toEqual([1, 2]);
  expect(await lines.refresh()).toBe(false);
  await appendFile(file, 'ep":3}\n');
  expect(await lines.refresh()).toBe(true);
  expect(stepsOf(lines)).toEqual([1, 2, 3]);
  expect(lines.generation).toBe(0);
});

it('reads a file anew if it became shorter, was replaced, or was deleted', async () => {
  const lines = new FollowedLines(file);
  await writeFile(file, '{"step":1}\n{"step":2}\n');
  await lines.refresh();
  await writeFile(file, '{"step":1}\n');
  await lines.refresh();
  expect([stepsOf(lines), lines.generation]).toEqual([[1], 1]);
  await writeFile(`${file}.new`, '{"step":7}\n{"step":8}\n{"step":9}\n');
  await rename(`${file}.new`, file);
  await lines.refresh();
  expect([stepsOf(lines), lines.generation]).toEqual([[7, 8, 9], 2]);
  await rm(file);
  expect(await lines.refresh()).toBe(true);
  expect([stepsOf(lines), lines.generation]).toEqual([[], 3]);
});

it('skips a line that is not an object', async () => {
  const lines = new FollowedLines(file);
  await writeFile(file, '{"step":1}\nnot json\n[3]\n{"step":4}\n');
  await lines.refresh();
  expect(stepsOf(lines)).toEqual([1, 4]);
});
