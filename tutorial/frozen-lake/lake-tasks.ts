import { createRandom, deriveSeed } from '@agentjet/core';
import type { Task, TaskReader } from 'agentjet';
import { createLakeMap, type LakeMap } from './frozen-lake.js';

/**
 * The cells of a map decide whether it is for training or, one in eight, for evaluation. Training therefore never draws
 * an evaluation map, with any seed.
 */
export type Split = 'training' | 'evaluation';

export function splitOf(map: LakeMap): Split {
  return deriveSeed(0, 'frozen lake', toKey(map)) % 8 === 0 ? 'evaluation' : 'training';
}

export function toKey({ start, goal, holes }: LakeMap): string {
  return `${start}-${goal}-${holes.join('-')}`;
}

/** Returns tasks with different maps of one split. The same seed gives the same tasks. */
export function drawTasks(
  split: Split,
  { seed, count }: { readonly seed: number; readonly count: number },
): readonly Task[] {
  const random = createRandom(deriveSeed(seed, split));
  const maps = new Map<string, LakeMap>();
  while (maps.size < count) {
    const map = createLakeMap(random);
    if (splitOf(map) === split) maps.set(toKey(map), map);
  }
  return [...maps].map(([key, map]) => ({
    taskId: `${split}-${key}`,
    mainQuery: 'Reach the goal.',
    initMessages: [],
    metadata: { map },
  }));
}

/** frozen_lake.yaml names this reader. */
export const lakeTasks: TaskReader = {
  async *trainingTasks() {
    yield* drawTasks('training', { seed: 1, count: 2048 });
  },
  async *evaluationTasks() {
    yield* drawTasks('evaluation', { seed: 1, count: 100 });
  },
};
