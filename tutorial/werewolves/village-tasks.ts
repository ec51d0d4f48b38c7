import { createRandom, deriveSeed } from '@agentjet/core';
import type { Task, TaskReader } from 'agentjet';
import { type Cast, createCast } from './village.js';

/** A cast decides its split, one in eight for evaluation, so training can draw no evaluation cast. */
export type Split = 'training' | 'evaluation';

export function splitOf(cast: Cast): Split {
  return deriveSeed(0, 'werewolves', toKey(cast)) % 8 === 0 ? 'evaluation' : 'training';
}

export function toKey(cast: Cast): string {
  return cast.map(({ name, role }) => `${name}-${role}`).join('.');
}

/** Returns tasks with different casts of one split. The same seed gives the same tasks. */
export function drawTasks(
  split: Split,
  { seed, count }: { readonly seed: number; readonly count: number },
): readonly Task[] {
  const random = createRandom(deriveSeed(seed, split));
  const casts = new Map<string, Cast>();
  while (casts.size < count) {
    const cast = createCast(random);
    if (splitOf(cast) === split) casts.set(toKey(cast), cast);
  }
  return [...casts].map(([key, cast]) => ({
    taskId: `${split}-${key}`,
    mainQuery: 'Win the game.',
    initMessages: [],
    metadata: { cast },
  }));
}

/** werewolves.yaml names this reader. */
export const villageTasks: TaskReader = {
  async *trainingTasks() {
    yield* drawTasks('training', { seed: 1, count: 2048 });
  },
  async *evaluationTasks() {
    yield* drawTasks('evaluation', { seed: 1, count: 200 });
  },
};
