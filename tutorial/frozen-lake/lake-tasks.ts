import { createRandom, deriveSeed } from '@agentjet/core';
import type { Task, TaskReader } from 'agentjet';
import { createLakeMap, type LakeMap } from './frozen-lake.js';

/**
 * Every possible map belongs to training or to evaluation, by its own cells and nothing else: so no seed, however
 * chosen, can draw an evaluation map in training. One map in eight is kept for evaluation.
 */
export type Split = 'training' | 'evaluation';

export function splitOf(map: LakeMap): Split {
  return deriveSeed(0, 'frozen lake', toKey(map)) % 8 === 0 ? 'evaluation' : 'training';
}

export function toKey({ start, goal, holes }: LakeMap): string {
  return `${start}-${goal}-${holes.join('-')}`;
}

/** Tasks on different maps of one split, the same ones for the same seed. */
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

/** Named in frozen_lake.yaml. */
export const lakeTasks: TaskReader = {
  async *trainingTasks() {
    yield* drawTasks('training', { seed: 1, count: 2048 });
  },
  async *evaluationTasks() {
    yield* drawTasks('evaluation', { seed: 1, count: 100 });
  },
};
