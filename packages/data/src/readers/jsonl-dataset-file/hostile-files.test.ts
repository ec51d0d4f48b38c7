import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Task } from '@agentjet/core';
import { afterAll, expect, it } from 'vitest';
import { openFileReader } from '../../testing/open-file-reader.js';

const dir = mkdtempSync(path.join(tmpdir(), 'hostile-files-'));
afterAll(() => rmSync(dir, { recursive: true, force: true }));

/** Reads the tasks of a file with this content. */
async function read(name: string, content: string | Uint8Array): Promise<readonly Task[]> {
  const training = path.join(dir, name);
  writeFileSync(training, content);
  const tasks: Task[] = [];
  for await (const task of openFileReader({ training }).trainingTasks()) tasks.push(task);
  return tasks;
}

const task = (more: string): string => `{"task_id": "a", "main_query": "x"${more}}\n`;
const nested = (depth: number): string => task(`, "metadata": {"d": ${'['.repeat(depth)}${']'.repeat(depth)}}`);
const latin1 = (text: string): Uint8Array => Buffer.from(text, 'latin1');

it.each([
  [
    'two columns of one name',
    'a.csv',
    'task_id,main_query,main_query\na,b,c\n',
    /a\.csv:1: .*two columns "main_query"/,
  ],
  ['a column without a name', 'b.csv', 'task_id,,main_query\na,b,c\n', /b\.csv:1: .*without a name/],
  ['a row that is too short', 'c.csv', 'task_id,main_query\na\n', /c\.csv:2: not CSV/],
  ['a row that is too long', 'd.csv', 'task_id,main_query\na,b,c\n', /d\.csv:2: not CSV/],
  ['a quote that never ends', 'e.csv', 'task_id,main_query\na,"b\nc\n', /e\.csv:\d: not CSV/],
  ['a quote in a word', 'f.csv', 'task_id,main_query\na,b"c"d\n', /f\.csv:2: not CSV/],
  ['names alone', 'g.csv', 'task_id,main_query\n', /g\.csv contains no tasks\. Write a line of column names, .* a row/],
  ['nothing, as CSV', 'g0.csv', '', /g0\.csv contains no tasks\. Write a line of column names/],
  ['nothing, as a list', 'g1.json', '[]', /g1\.json contains no tasks\. Write a list of objects/],
  ['nothing, in lines', 'g2.jsonl', '', /g2\.jsonl contains no tasks\. Write one JSON object per line/],
  ['a sheet', 'g3.xlsx', 'PK\u0003\u0004x', /ends in \.xlsx is read as JSON Lines\. .* one of \.csv, .*\.parquet/],
  ['a text', 'g4.txt', 'What is 2 + 2?\n', /g4\.txt:1: not JSON: .* ends in \.txt is read as JSON Lines/],
  ['semicolons', 'h.csv', 'task_id;main_query\na;b\n', /columns are task_id;main_query/],
  ['a zero byte', 'i.csv', 'task_id,main_query\na,b\0c\n', /contains zero bytes/],
  ['Latin-1 in CSV', 'j.csv', latin1('task_id,main_query\na,grün\n'), /not UTF-8/],
  ['Latin-1 in JSON', 'j.json', latin1('[{"task_id": "a", "main_query": "grün"}]'), /not UTF-8/],
  ['Latin-1', 'j.jsonl', latin1(task(', "b": "grün"')), /j\.jsonl:1: not UTF-8/],
  ['an overlong encoding', 'k.jsonl', latin1(task(', "b": "\u00c0\u00af"')), /k\.jsonl:1: not UTF-8/],
  ['a line that is cut off', 'l.jsonl', `${task('')}{"task_id": "b", "main_qu`, /l\.jsonl:2: not JSON/],
  ['NaN', 'm.jsonl', task(', "n": NaN'), /m\.jsonl:1: not JSON/],
  ['an infinite id', 'n.jsonl', '{"task_id": 1e999, "main_query": "x"}\n', /n\.jsonl:1: task_id is/],
  [
    'a question under __proto__',
    'o.jsonl',
    '{"__proto__": {"task_id": "a", "main_query": "x"}}\n',
    /task_id is missing/,
  ],
  ['nesting beyond the stack', 'p.jsonl', nested(100_000), /p\.jsonl:1: the task is nested/],
  ['a page of an error', 'q.parquet', '<html>404</html>', /q\.parquet cannot be read as Parquet/],
  [
    'a Parquet file with a wild length',
    'r.parquet',
    latin1(`PAR1${'\xff'.repeat(20)}PAR1`),
    /cannot be read as Parquet/,
  ],
])('says what is wrong with %s', async (_, name, content, message) => {
  await expect(read(name, content)).rejects.toThrow(message);
});

it.each([
  ['a byte order mark and CRLF', 'a.jsonl', `\ufeff${task('').trim()}\r\n`],
  ['a key that occurs twice: the last counts', 'b.jsonl', '{"task_id": "a", "main_query": "y", "main_query": "x"}\n'],
  ['half a surrogate pair', 'c.jsonl', task(', "b": "\\ud800"')],
  ['lines that end as on an old Mac', 'd.csv', 'task_id,main_query\ra,x\r'],
])('reads %s', async (_, name, content) => {
  expect(await read(name, content)).toMatchObject([{ taskId: 'a', mainQuery: 'x' }]);
});

it.each([
  ['a.jsonl', task(', "__proto__": {"reward": 1}, "constructor": 2, "toString": "t"')],
  ['b.jsonl', task(', "metadata": {"__proto__": {"reward": 1}, "hasOwnProperty": 2}')],
  ['c.csv', 'task_id,main_query,__proto__,constructor\na,x,"{""reward"": 1}",2\n'],
])('takes the names of an object’s own members for columns in %s, and changes no prototype', async (name, content) => {
  const [found] = await read(name, content);
  expect(found).toMatchObject({ taskId: 'a', mainQuery: 'x' });
  expect(Object.getPrototypeOf(found?.metadata)).toBe(Object.prototype);
  expect(found?.metadata).not.toHaveProperty('reward');
  expect({}).not.toHaveProperty('reward');
});
