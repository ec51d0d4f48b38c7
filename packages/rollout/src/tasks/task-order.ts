import { createRandom, deriveSeed, type Task } from '@agentjet/core';

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

/** One pass after another, each in its own order where `shuffle` is set. `epochs` may be Infinity. */
export function* repeatTasks(tasks: readonly Task[], options: { readonly epochs: number; readonly seed: number; readonly shuffle: boolean }): Generator<{ readonly epoch: number; readonly task: Task }> {
  for (let epoch = 0; epoch < options.epochs && tasks.length > 0; epoch++) {
    const order = options.shuffle ? shuffleTasks(tasks, deriveSeed(options.seed, 'epoch', epoch)) : tasks;
    for (const task of order) yield { epoch, task };
  }
}
