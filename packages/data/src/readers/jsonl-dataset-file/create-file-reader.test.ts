import { cpSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { collectAll } from '@agentjet/rollout/testing';
import type { Task } from '@agentjet/core';
import { afterAll, describe, expect, it } from 'vitest';
import { tableReaderCases } from '../../testing/table-reader-cases.js';
import { openFileReader } from '../../testing/open-file-reader.js';

const dir = mkdtempSync(path.join(tmpdir(), 'file-reader-'));
const kept = process.env['XDG_CACHE_HOME'];
process.env['XDG_CACHE_HOME'] = path.join(dir, 'cache');
afterAll(() => {
  if (kept === undefined) delete process.env['XDG_CACHE_HOME'];
  else process.env['XDG_CACHE_HOME'] = kept;
  rmSync(dir, { recursive: true, force: true });
});
const fixtures = path.join(import.meta.dirname, '../../rows/fixtures');

function write(name: string, text: string): string {
  const file = path.join(dir, name);
  mkdirSync(path.dirname(file), { recursive: true });
  writeFileSync(file, text);
  return file;
}

const idsOf = async (tasks: AsyncIterable<Task>): Promise<readonly string[]> =>
  (await collectAll(tasks)).map(({ taskId }) => taskId);

const lines = (...rows: readonly object[]): string => rows.map((row) => `${JSON.stringify(row)}\n`).join('');
const sum = (at: number): object => ({ task_id: `t${at}`, main_query: `What is ${at} + ${at}?`, answer: 2 * at });
const sums = (count: number, from = 0): string => lines(...Array.from({ length: count }, (_, at) => sum(from + at)));
const questions = { main_query: 'question', answer: 'answer', task_id: 'question' };

describe.each([
  ['jsonl', () => ({ training: write('a.jsonl', sums(20)), validation: write('b.jsonl', sums(3, 50)) })],
  ['csv', () => ({ training: write('a.csv', 'question,answer\n"1, 2?",3\n4?,5\n'), fields: questions })],
  ['json', () => ({ training: write('a.json', `[${JSON.stringify(sum(1))}, ${JSON.stringify(sum(2))}]`) })],
  ['parquet', () => ({ training: path.join(fixtures, 'rows-zstd.parquet'), fields: { main_query: 'question' } })],
  [
    'a pattern',
    () => {
      write('many/x/1.jsonl', sums(3));
      write('many/y/2.jsonl', sums(4, 10));
      return { training: path.join(dir, 'many/**/*.jsonl') };
    },
  ],
  ['a split by hash', () => ({ training: write('a.jsonl', sums(60)), split: { evaluation: 0.3, by: 'task_id' } })],
])('%s', (_, options) => {
  for (const { name, run } of tableReaderCases(() => openFileReader(options()))) it(name, run);
});

it('gives ids that begin with the file and the side where fields map the columns', async () => {
  const options = { training: write('gsm.csv', 'q\nx\ny\n'), fields: { main_query: 'q' } };
  expect(await idsOf(openFileReader(options).trainingTasks())).toEqual(['gsm/training/0', 'gsm/training/1']);
  write('two/a/t.csv', 'q\nx\n');
  write('two/b/t.csv', 'q\ny\n');
  const two = openFileReader({ ...options, training: path.join(dir, 'two/*/t.csv') });
  expect(await idsOf(two.trainingTasks())).toEqual(['a/t.csv/training/0', 'b/t.csv/training/0']);
});

it('finds an id that two files share, and names both places', async () => {
  write('ids/1.jsonl', sums(3));
  write('ids/2.jsonl', sums(3, 2));
  await expect(openFileReader({ training: path.join(dir, 'ids/*.jsonl') }).trainingTable?.()).rejects.toThrow(
    /2\.jsonl:1: task_id "t2" was used in .*1\.jsonl:3 already/,
  );
});

it('finds a task that is in training and in evaluation, ignoring case and white space', async () => {
  const training = write('leak-a.jsonl', sums(5));
  const validation = write('leak-b.jsonl', lines({ task_id: 'other', main_query: ' what  is 3 + 3?\n' }));
  const reader = openFileReader({ training, validation });
  await expect(reader.trainingTable?.()).rejects.toThrow(
    /in both training and evaluation: .*leak-a\.jsonl:4 and .*leak-b\.jsonl:1\..*allow_overlap/,
  );
  const notices: string[] = [];
  const allowed = openFileReader({
    training,
    validation,
    allowOverlap: true,
    onNotice: (message) => notices.push(message),
  });
  expect((await allowed.trainingTable?.())?.size).toBe(5);
  expect(notices).toEqual([expect.stringMatching(/^1 training task is an evaluation task as well .*leak-a\.jsonl:4/)]);
  expect(await idsOf(openFileReader({ training, validation }).evaluationTasks())).toEqual(['other']); // evaluating alone
});

it('leaves out repeated training tasks, and says which', async () => {
  const words =
    'A farmer has 12 sheep and buys 5 more of them on a rainy market day in spring. How many sheep are there';
  const rows = [words, words.toUpperCase(), `${words} now?`, words.replace('12', '13')].map((main_query, at) => ({
    task_id: `t${at}`,
    main_query,
  }));
  const training = write('repeated.jsonl', lines(...rows));
  expect(await idsOf(openFileReader({ training }).trainingTasks())).toEqual(['t0', 't1', 't2', 't3']);
  const exact = openFileReader({ training, duplicates: 'exact' });
  expect(await idsOf(exact.trainingTasks())).toEqual(['t0', 't2', 't3']);
  const near = openFileReader({ training, duplicates: 'near', similarity: 0.9 });
  expect(await idsOf(near.trainingTasks())).toEqual(['t0', 't3']);
  expect((await near.describe?.())?.training).toMatchObject({
    tasks: 2,
    dropped: [
      { reason: 'exact duplicate of an earlier task', count: 1, examples: [expect.stringMatching(/:2 repeats .*:1$/)] },
      {
        reason: expect.stringMatching(/^near duplicate/),
        count: 1,
        examples: [expect.stringMatching(/:3 repeats .*:1$/)],
      },
    ],
  });
});

it('never moves a task to the other side when rows are added, removed or moved', async () => {
  const sideOf = async (text: string): Promise<ReadonlyMap<string, string>> => {
    const reader = openFileReader({ training: write('split.jsonl', text), split: { evaluation: 0.25, by: 'content' } });
    const training = (await idsOf(reader.trainingTasks())).map((id) => [id, 'training'] as const);
    return new Map([...training, ...(await idsOf(reader.evaluationTasks())).map((id) => [id, 'evaluation'] as const)]);
  };
  const before = await sideOf(sums(400));
  expect([...before.values()].filter((side) => side === 'evaluation').length).toBeGreaterThan(60);
  expect([...before.values()].filter((side) => side === 'evaluation').length).toBeLessThan(140);
  const after = await sideOf(sums(200, 500) + sums(300, 50) + sums(50));
  for (const [id, side] of after) expect(before.get(id) ?? side, id).toBe(side);
});

it('keeps tasks with the same value of a field on one side', async () => {
  const rows = Array.from({ length: 300 }, (_, at) => ({ ...sum(at), talk: `c${at % 30}` }));
  const training = write('talks.jsonl', lines(...rows));
  const reader = openFileReader({ training, split: { evaluation: 0.4, by: 'talk' } });
  const talks = async (tasks: AsyncIterable<Task>) =>
    new Set((await collectAll(tasks)).map(({ metadata }) => metadata['talk']));
  const [left, right] = [await talks(reader.trainingTasks()), await talks(reader.evaluationTasks())];
  expect([...left].filter((talk) => right.has(talk))).toEqual([]);
  expect(left.size + right.size).toBe(30);
  await expect(
    collectAll(openFileReader({ training, split: { evaluation: 0.4, by: 'tlak' } }).trainingTasks()),
  ).rejects.toThrow(/split\.by is "tlak", which the task does not have/);
});

it('refuses a share for evaluation next to a file for it, and a share that leaves nothing', async () => {
  const training = write('one.jsonl', sums(2));
  const both = openFileReader({
    training,
    validation: write('two.jsonl', sums(2, 9)),
    split: { evaluation: 0.5, by: 'content' },
  });
  await expect(both.trainingTable?.()).rejects.toThrow(/there are already evaluation tasks: .*two\.jsonl/);
});

/** Larger than what is read without a cache. */
const padding = 'x'.repeat(400);
const large = lines(...Array.from({ length: 3000 }, (_, at) => ({ ...sum(at), padding })));
const cached = (): readonly string[] => readdirSync(path.join(dir, 'cache/agentjet/tasks')).sort();

describe.each(['jsonl', 'csv'])('the cache of a large %s file', (end) => {
  const text =
    end === 'jsonl' ? large : `q,a\n${Array.from({ length: 3000 }, (_, at) => `What is ${at}?,${padding}`).join('\n')}`;
  const fields = end === 'jsonl' ? undefined : { main_query: 'q' };
  const file = path.join(dir, `large.${end}`);
  const read = async (): Promise<readonly Task[]> => {
    const table = await openFileReader({ training: file, ...(fields && { fields }) }).trainingTable?.();
    return Promise.all([0, 777, (table?.size ?? 0) - 1].map(async (at) => (await table?.taskAt(at)) as Task));
  };

  it('is made once, by two readers at the same time as well, and gives the same tasks', async () => {
    rmSync(path.join(dir, 'cache'), { recursive: true, force: true });
    writeFileSync(file, text);
    const [first, second] = await Promise.all([read(), read()]);
    expect(second).toEqual(first);
    expect(cached()).toHaveLength(1);
    const [entry = ''] = cached();
    const made = statSync(path.join(dir, 'cache/agentjet/tasks', entry, 'card.json')).mtimeMs;
    expect(await read()).toEqual(first);
    expect(statSync(path.join(dir, 'cache/agentjet/tasks', entry, 'card.json')).mtimeMs).toBe(made);
  });

  it('is made again if it is broken in any way', async () => {
    const tasks = await read();
    const [entry = ''] = cached();
    const folder = path.join(dir, 'cache/agentjet/tasks', entry);
    const whole = path.join(dir, 'whole');
    cpSync(folder, whole, { recursive: true });
    for (const name of readdirSync(whole))
      for (const content of ['', '{}', Buffer.alloc(statSync(path.join(whole, name)).size, 32)]) {
        rmSync(folder, { recursive: true, force: true });
        cpSync(whole, folder, { recursive: true });
        writeFileSync(path.join(folder, name), content);
        expect(await read(), `${name} is ${content.length} bytes`).toEqual(tasks);
      }
  });

  it('is another one when the file changes', async () => {
    const before = await read();
    writeFileSync(file, text.replace('What is 0', 'What was 0'));
    utimesSync(file, 1_700_000_000, 1_700_000_000);
    expect((await read())[0]?.mainQuery).not.toBe(before[0]?.mainQuery);
    expect(cached()).toHaveLength(2);
  });

  it('says that a file changed while a run reads it', async () => {
    const table = await openFileReader({ training: file, ...(fields && { fields }) }).trainingTable?.();
    if (end === 'jsonl') {
      writeFileSync(file, `${text}\n`);
      await expect(table?.taskAt(5)).rejects.toThrow(/has changed since the run began/);
    } else expect((await table?.taskAt(5))?.mainQuery).toBe('What is 5?'); // the cache has its rows
  });
});

it('continues without a cache that cannot be written, and says so; a file that needs it is refused', async () => {
  process.env['XDG_CACHE_HOME'] = write('not-a-folder', '');
  try {
    const notices: string[] = [];
    const jsonl = openFileReader({ training: write('l.jsonl', large), onNotice: (message) => notices.push(message) });
    expect((await jsonl.trainingTable?.())?.size).toBe(3000);
    expect(notices).toEqual([
      expect.stringMatching(/^Cannot write the task cache.*XDG_CACHE_HOME\. The run continues/),
    ]);
    const csv = openFileReader({
      training: write('l.csv', `q\n${`${padding}\n`.repeat(3000)}`),
      fields: { main_query: 'q' },
    });
    await expect(csv.trainingTable?.()).rejects.toThrow(/Cannot write the task cache.*XDG_CACHE_HOME/);
  } finally {
    process.env['XDG_CACHE_HOME'] = path.join(dir, 'cache');
  }
});

it.each([
  ['a pattern without files', { training: path.join(dir, 'none-*.jsonl') }, /No file matches .*none-\*\.jsonl/],
  ['a file that is not there', { training: path.join(dir, 'none.csv') }, /none\.csv does not exist/],
])('says what is wrong with %s', async (_, options, message) => {
  await expect(openFileReader(options).trainingTable?.()).rejects.toThrow(message);
});
