import { appendFileSync, mkdtempSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Task } from '@agentjet/core';
import { createListTable } from '@agentjet/rollout';
import { beforeEach, expect, it } from 'vitest';
import { selectByDifficulty, type DifficultyOptions } from './select-by-difficulty.js';

/** The tasks of the tests. Each id says how many of four episodes succeed. */
const tasks = [0, 4, 1, 2, 3, 4, 0].map(
  (solved, at): Task => ({ taskId: `${solved}-${at}`, mainQuery: 'x', initMessages: [], metadata: {} }),
);
const table = createListTable(tasks, 'a list');

let cacheFile: string;
let probed: string[];
beforeEach(() => {
  cacheFile = path.join(mkdtempSync(path.join(tmpdir(), 'difficulty-')), 'deep', 'task-probe.jsonl');
  probed = [];
});

const select = (options: Partial<DifficultyOptions> = {}) =>
  selectByDifficulty(table, {
    samples: 4,
    solvedAbove: 0,
    solvedBelow: 1,
    cacheFile,
    shapedBy: { model: 'nano' },
    probe: async (asked) => {
      probed.push(...asked.map(({ taskId }) => taskId));
      return asked.map(({ taskId }) => ({ episodes: 4, solved: Number(taskId[0]) }));
    },
    chunk: 2,
    onProgress: () => undefined,
    ...options,
  });

async function idsOf({ table: selected }: Awaited<ReturnType<typeof select>>): Promise<readonly string[]> {
  const indices = Array.from({ length: selected.size ?? 0 }, (_, at) => at);
  return Promise.all(indices.map(async (at) => (await selected.taskAt(at)).taskId));
}

it('leaves out tasks that are always or never solved, and says which', async () => {
  const selected = await select();
  expect(await idsOf(selected)).toEqual(['1-2', '2-3', '3-4']);
  expect(selected.dropped).toEqual([
    { reason: 'too hard: the model solves at most 0 of its 4 episodes', count: 2, examples: ['0-0', '0-6'] },
    { reason: 'too easy: the model solves at least 1 of its 4 episodes', count: 2, examples: ['4-1', '4-5'] },
  ]);
  await expect(selected.table.taskAt(3)).rejects.toThrow(/no task/);
});

it('takes other limits, and none', async () => {
  expect(await idsOf(await select({ solvedAbove: 0.25, solvedBelow: 0.75 }))).toEqual(['2-3']);
  expect(await idsOf(await select({ solvedAbove: null, solvedBelow: 0.5 }))).toEqual(['0-0', '1-2', '0-6']);
  await expect(select({ solvedAbove: 0.9, solvedBelow: 0.95 })).rejects.toThrow(/None of 7 tasks is left/);
});

it('probes a task once for a model, also if it was stopped in between and its last line is torn', async () => {
  const probe: DifficultyOptions['probe'] = async (asked) => {
    if (probed.length >= 4) throw new Error('the power fails');
    probed.push(...asked.map(({ taskId }) => taskId));
    return asked.map(({ taskId }) => ({ episodes: 4, solved: Number(taskId[0]) }));
  };
  await expect(select({ probe })).rejects.toThrow('the power fails');
  appendFileSync(cacheFile, '{"key": "ab');
  probed = [];
  await select();
  expect(probed).toEqual(['3-4', '4-5', '0-6']);
  probed = [];
  await select();
  expect(probed).toEqual([]);
  expect(readFileSync(cacheFile, 'utf8').split('\n')).toHaveLength(9); // including the incomplete line and the end
  await select({ shapedBy: { model: 'another' } });
  expect(probed).toHaveLength(7);
});

it('keeps a task whose episodes were lost, and probes it again the next time', async () => {
  const lost = await select({ probe: async (asked) => asked.map(() => ({ episodes: 3, solved: 0 })) });
  expect((await idsOf(lost)).length).toBe(7);
  await select();
  expect(probed).toHaveLength(7);
});
