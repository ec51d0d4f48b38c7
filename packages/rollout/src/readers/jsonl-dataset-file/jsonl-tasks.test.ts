import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
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
  it('reads the fields, with the whole line as metadata where there is none', async () => {
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
    ['no question', '{"task_id": "a"}', ':1: task "a" has neither main_query nor init_messages'],
    ['a question that is no text', '{"task_id": "a", "main_query": 5}', ':1: main_query is 5'],
    [
      'bad messages',
      '{"task_id": "a", "init_messages": [{"role": "robot", "content": "x"}]}',
      ':1: init_messages[0] is {"role":"robot"',
    ],
    ['bad metadata', '{"task_id": "a", "main_query": "x", "metadata": 3}', ':1: metadata is 3'],
    ['nothing', '\n\n', 'holds no tasks'],
  ])('refuses %s with file and line', async (_name, text, message) => {
    const file = write(text);
    const error = await readJsonlTasks(file).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(TaskError);
    expect((error as TaskError).message).toContain(`${file}${message.startsWith(':') ? '' : ' '}${message}`);
  });

  it('names a file that is not there or cannot be read', async () => {
    await expect(readJsonlTasks(path.join(dir, 'none.jsonl'))).rejects.toThrow(/none\.jsonl does not exist/);
    await expect(readJsonlTasks(dir)).rejects.toThrow(/cannot be read: EISDIR/);
  });
});
