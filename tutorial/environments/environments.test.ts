import { spawnSync } from 'node:child_process';
import { createRandom } from '@agentjet/core';
import type { Environment, Task } from 'agentjet';
import { afterAll, expect, it } from 'vitest';
import { directions } from '../frozen-lake/frozen-lake.js';
import { drawTasks } from '../frozen-lake/lake-tasks.js';
import { lake } from './lake-world.js';
import { overAgentjet, overMcp, overOpenenv } from './worlds.js';

const python = process.env['LAKE_PYTHON'] ?? 'python3';
const hasOpenenv = spawnSync(python, ['-c', 'import openenv, gymnasium']).status === 0;
const worlds = { overAgentjet, overMcp, ...(hasOpenenv && { overOpenenv }) };
const tasks = drawTasks('training', { seed: 1, count: 2048 }).slice(0, 5);

afterAll(async () => {
  for (const world of Object.values(worlds)) await world.close?.();
});

/** Walks at random. Returns all observations and the verdict. */
async function walk(world: Environment, task: Task, seed: number): Promise<readonly unknown[]> {
  const random = createRandom(seed);
  const session = await world.open(task, {
    seed,
    signal: AbortSignal.timeout(60_000),
    episodeId: `${task.taskId}-${seed}`,
  });
  const seen: unknown[] = [session.observation.text];
  for (let move = 0; move < 6; move++) {
    const words = move === 5 ? 'sideways' : (directions[random.int(4)] ?? 'up');
    const called = session.tools.length > 0 ? await session.call?.('walk', { direction: words }) : undefined;
    const stepped = called === undefined ? await session.step?.(words) : undefined;
    const isDone = stepped?.isDone ?? (called?.data as { isDone: boolean } | undefined)?.isDone;
    seen.push(words, stepped?.observation.text ?? called?.text, isDone);
    if (isDone) break;
  }
  seen.push(await session.evaluate?.());
  await session.close();
  return seen;
}

it.each(Object.entries(worlds))('%s shows the same lake as the one in this process', async (_name, world) => {
  for (const [seed, task] of tasks.entries())
    expect(await walk(world, task, seed)).toEqual(await walk(lake, task, seed));
});
