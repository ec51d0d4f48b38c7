import { deriveSeed } from '@agentjet/core';

/**
 * The seed of an episode. It follows from the task, the pass over the tasks (whose seed this takes) and the place, but
 * not from the attempt: an attempt that was lost to the world is repeated as the same experiment.
 */
export function placeSeed(passSeed: number, taskId: string, place: number): number {
  return deriveSeed(passSeed, taskId, place);
}
