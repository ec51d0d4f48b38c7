import { execFileSync } from 'node:child_process';
import { mkdtempSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { gzipSync } from 'node:zlib';
import { TaskError } from '@agentjet/core';
import { describe, expect, it } from 'vitest';
import { readJsonlTasks } from './jsonl-tasks.js';

const dir = mkdtempSync(path.join(tmpdir(), 'jsonl-tasks-'));
let numFiles = 0;

function write(text: string): string {
  const file = path.join(dir, `${numFiles++}.jsonl`);
  writeFileSync(file, text);
  return file;
}

describe('readJsonlTasks', () => {
  it('reads the fields, with the whole line as metadata if there is none', async () => {
    const lines = [
      '{"task_id": "a", "main_query": "2+2", "answer": 4}',
      '',
      '{"task_id": 7, "init_messages": [{"role": "user", "content": "hi"}], "metadata": {"level": 1}}',
    ];
    expect(await readJsonlTasks(write(`\uFEFF${lines.join('\r\n')}\r\n`))).toEqual([
      { taskId: 'a', mainQuery: '2+2', initMessages: [], metadata: { task_id: 'a', main_query: '2+2', answer: 4 } },
      { taskId: '7', mainQuery: '', initMessages: [{ role: 'user', content: 'hi' }], metadata: { level: 1 } },
    ]);
  });

  it.each([
    ['not JSON', '{"task_id": "a", "main_query": "x"}\n{"task_id": ', ':2: not JSON'],
    ['a list', '[1]', ':1: [1] is not an object'],
    ['no id', '{"main_query": "x"}', ':1: task_id is missing'],
    ['an empty id', '{"task_id": " ", "main_query": "x"}', ':1: task_id is " "'],
    [
      'a repeated id',
      '{"task_id": "a", "main_query": "x"}\n\n{"task_id": "a", "main_query": "y"}',
      ':3: task_id "a" was used in line 1',
    ],
    [
      'another name of the question',
      '{"task_id": "a", "level": 2, "question": "2 + 3?"}',
      ':1: task "a" has neither main_query nor init_messages. Give it one of them. Its columns are task_id, level, question: if one of them is the question, name it with "fields", such as { main_query: question }.',
    ],
    ['no question', '{"task_id": "a"}', ':1: task "a" has neither main_query nor init_messages'],
    ['a question that is not a string', '{"task_id": "a", "main_query": 5}', ':1: main_query is 5'],
    [
      'bad messages',
      '{"task_id": "a", "init_messages": [{"role": "robot", "content": "x"}]}',
      ':1: init_messages[0] is {"role":"robot"',
    ],
    ['bad metadata', '{"task_id": "a", "main_query": "x", "metadata": 3}', ':1: metadata is 3'],
    ['nothing', '\n\n', 'contains no tasks'],
  ])('refuses %s with file and line', async (_name, text, message) => {
    const file = write(text);
    const error = await readJsonlTasks(file).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(TaskError);
    expect((error as TaskError).message).toContain(`${file}${message.startsWith(':') ? '' : ' '}${message}`);
  });

  it('names a file that is not there or cannot be read', async () => {
    await expect(readJsonlTasks(path.join(dir, 'none.jsonl'))).rejects.toThrow(/none\.jsonl does not exist/);
    await expect(readJsonlTasks(dir)).rejects.toThrow(/ is a folder\. Name a file/);
  });

  it.skipIf(process.platform === 'win32')('refuses devices and pipes, which have no end', async () => {
    const pipe = path.join(dir, 'pipe');
    execFileSync('mkfifo', [pipe]);
    await expect(readJsonlTasks(pipe)).rejects.toThrow(/pipe is a device or a pipe/);
    await expect(readJsonlTasks('/dev/zero')).rejects.toThrow(/is a device or a pipe/);
    const loop = path.join(dir, 'loop');
    symlinkSync(loop, loop);
    await expect(readJsonlTasks(loop)).rejects.toThrow(/cannot be read: ELOOP/);
  });

  it('refuses a file that is larger than memory, and a line without an end, before they are read whole', async () => {
    const file = write('{}');
    truncateSync(file, 2 ** 30 + 1);
    await expect(readJsonlTasks(file)).rejects.toThrow(/has 1073741825 bytes; a task file may have 1073741824/);
    const line = write(' ');
    truncateSync(line, 2 ** 30);
    await expect(readJsonlTasks(line)).rejects.toThrow(/:1: the line is longer than 67108864 bytes/);
  });

  it.each([
    ['gzip', gzipSync('{"task_id": "a", "main_query": "x"}'), /compressed with gzip\. Unpack it/],
    ['half a gzip', gzipSync('{"task_id": "a"}').subarray(0, 12), /compressed with gzip/],
    ['UTF-16', Buffer.from('\uFEFF{"task_id": "a", "main_query": "x"}', 'utf16le'), /is UTF-16\. Save it as UTF-8/],
    ['UTF-16 without its mark', Buffer.from('{"task_id": "a"}', 'utf16le'), /contains zero bytes.*Save it as UTF-8/],
    ['another encoding', Buffer.from('{"task_id": "caf\u00e9", "main_query": "x"}', 'latin1'), /:1: not UTF-8/],
    [
      'a deep task',
      `{"task_id": "a", "main_query": "x", "b": ${'['.repeat(9e4)}${']'.repeat(9e4)}}`,
      /nested more than 500 levels/,
    ],
    ['a zero byte', '{"task_id": "a", "main_query": "x"}\n\0\n', /:2: not JSON/],
  ])('refuses %s in words', async (_name, bytes, message) => {
    const file = path.join(dir, `${numFiles++}.jsonl`);
    writeFileSync(file, bytes);
    await expect(readJsonlTasks(file)).rejects.toThrow(message);
  });

  it('keeps long integers next to a string of 20 MB, and quotes within strings', async () => {
    const text = `${'a'.repeat(20e6)}\\" 12345678901234567890 \\\\`;
    const row = `{"task_id": "a", "main_query": "${text}", "n": -12345678901234567890, "m": "\\\\", "d": 1.5e3}\n`;
    const [task] = await readJsonlTasks(write(row));
    expect(task?.mainQuery.slice(-26)).toBe('aa" 12345678901234567890 \\');
    expect(task?.metadata).toMatchObject({ n: '-12345678901234567890', m: '\\', d: 1500 });
  });

  it('reads a line of 10 MB, every kind of line end, and separators of Unicode inside of a string', async () => {
    const long = 'x'.repeat(1e7);
    const lines = [`{"task_id": 1, "main_query": "${long}"}`, '{"task_id": 2, "main_query": "a\u2028b"}'];
    for (const end of ['\n', '\r\n', '\r']) {
      const tasks = await readJsonlTasks(write(lines.join(end) + end));
      expect(tasks.map(({ mainQuery }) => mainQuery.length)).toEqual([1e7, 3]);
    }
  });
});
