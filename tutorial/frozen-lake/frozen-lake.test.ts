import { createRandom, type Task } from '@agentjet/core';
import { describe, expect, it } from 'vitest';
import { createLakeMap, directions, FrozenLake, type LakeMap } from './frozen-lake.js';
import { drawTasks, lakeTasks, splitOf, toKey } from './lake-tasks.js';

/** The start is at the upper left, and the goal is two cells below it. One hole is between them and one is far away. */
const map: LakeMap = { start: 0, goal: 8, holes: [4, 15] };

async function collect(tasks: AsyncIterable<Task>): Promise<readonly LakeMap[]> {
  const maps: LakeMap[] = [];
  for await (const task of tasks) maps.push(task.metadata['map'] as LakeMap);
  return maps;
}

describe('a frozen lake', () => {
  it('ends in the hole, or at the goal', () => {
    expect(new FrozenLake(map).step('down')).toBe('hole');
    const lake = new FrozenLake(map);
    const states = (['right', 'down', 'down', 'left'] as const).map((direction) => lake.step(direction));
    expect(states).toEqual(['walking', 'walking', 'walking', 'goal']);
  });

  it('keeps the walker on the lake', () => {
    const lake = new FrozenLake(map);
    const before = lake.describe();
    expect(lake.step('up')).toBe('walking');
    expect(lake.step('left')).toBe('walking');
    expect(lake.describe()).toBe(before);
  });

  it('can always be crossed, in two steps or more', () => {
    const random = createRandom(1);
    for (let index = 0; index < 300; index++) {
      const drawn = createLakeMap(random);
      expect(shortestWalk(drawn)).toBeGreaterThanOrEqual(2);
      expect(new Set([drawn.start, drawn.goal, ...drawn.holes]).size).toBe(4);
    }
  });
});

/** Searches whole walks breadth-first, through the public functions alone. */
function shortestWalk(drawn: LakeMap): number {
  let walks: (readonly (typeof directions)[number][])[] = [[]];
  for (let length = 1; length <= 12; length++) {
    const seen = new Set<string>();
    const next: typeof walks = [];
    for (const walk of walks.flatMap((before) => directions.map((direction) => [...before, direction]))) {
      const lake = new FrozenLake(drawn);
      for (const direction of walk) lake.step(direction);
      if (lake.state === 'goal') return length;
      if (lake.state === 'hole' || seen.has(lake.describe())) continue;
      seen.add(lake.describe());
      next.push(walk);
    }
    walks = next;
  }
  return Infinity;
}

describe('its tasks', () => {
  it('give training and evaluation no map in common, for any seed', async () => {
    const evaluation = new Set((await collect(lakeTasks.evaluationTasks())).map(toKey));
    expect(evaluation.size).toBe(100);
    const training = await collect(lakeTasks.trainingTasks());
    const others = drawTasks('training', { seed: 99, count: 500 }).map((task) => task.metadata['map'] as LakeMap);
    for (const drawn of [...training, ...others]) {
      expect(splitOf(drawn)).toBe('training');
      expect(evaluation.has(toKey(drawn))).toBe(false);
    }
  });

  it('are the same in each pass, and none comes twice', async () => {
    const first = await collect(lakeTasks.trainingTasks());
    expect(await collect(lakeTasks.trainingTasks())).toEqual(first);
    expect(new Set(first.map(toKey)).size).toBe(first.length);
  });
});
