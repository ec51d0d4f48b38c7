import { createRandom, type Task } from '@agentjet/core';

/** The tasks in an order of their own, the same for the same seed (Fisher and Yates). */
export function shuffleTasks(tasks: readonly Task[], seed: number): readonly Task[] {
  const random = createRandom(seed);
  const shuffled = [...tasks];
  for (let last = shuffled.length - 1; last > 0; last--) {
    const pick = random.int(last + 1);
    [shuffled[last], shuffled[pick]] = [shuffled[pick] as Task, shuffled[last] as Task];
  }
  return shuffled;
}
