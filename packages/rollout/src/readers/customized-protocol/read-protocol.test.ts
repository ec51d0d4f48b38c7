import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { CommonConfig, Task } from '@agentjet/core';
import { expect, it } from 'vitest';
import { readerProtocol } from './registration.js';

const file = path.join(mkdtempSync(path.join(tmpdir(), 'reader-')), 'tasks.ts');
writeFileSync(
  file,
  `
export async function* sums() { yield { taskId: 'a', mainQuery: '1 + 1?' }; }
export function* more() { yield { taskId: 'b', mainQuery: '1 + 2?' }; }
export class Both { trainingTasks = sums; evaluationTasks = more; }
export class Broken { constructor() { throw new Error('no database'); } }
export const half = { trainingTasks: sums };
`,
);

const open = (name: string) =>
  readerProtocol.open({ readerProtocol: `${file}->${name}` }, { config: {} as CommonConfig });

async function idsOf(tasks: AsyncIterable<Task>): Promise<readonly string[]> {
  const ids: string[] = [];
  for await (const { taskId } of tasks) ids.push(taskId);
  return ids;
}

it.each([
  ['sums', ['a'], []],
  ['more', ['b'], []],
  ['Both', ['a'], ['b']],
])('%s gives its tasks', async (name, training, evaluation) => {
  const reader = await open(name);
  expect([await idsOf(reader.trainingTasks()), await idsOf(reader.evaluationTasks())]).toEqual([training, evaluation]);
});

it('says what a reader is where something else is named', async () => {
  await expect(open('half')).rejects.toThrow(
    /half is not a task reader: it needs the methods trainingTasks\(\) and evaluationTasks\(\)/,
  );
  await expect(open('Broken')).rejects.toThrow(/Broken threw while it was constructed: no database/);
});
