import { createRandom, deriveSeed, type Task } from '@agentjet/core';
import type { TaskReader } from '../../tasks/task-reader.js';

type RandomTaskOptions = { readonly numTraining: number; readonly numValidation: number; readonly seed: number };

async function* createTasks(split: string, count: number, seed: number): AsyncGenerator<Task> {
  const random = createRandom(deriveSeed(seed, 'random_dummy', split));
  for (let index = 0; index < count; index++) {
    yield {
      taskId: `${split}-${index}`,
      mainQuery: '',
      initMessages: [],
      metadata: { random_number: random.int(2 ** 31) },
    };
  }
}

/** Reads tasks without text, for a workflow that makes its problem from `metadata.random_number`. */
export function createRandomTaskReader({ numTraining, numValidation, seed }: RandomTaskOptions): TaskReader {
  return {
    trainingTasks: () => createTasks('training', numTraining, seed),
    evaluationTasks: () => createTasks('validation', numValidation, seed),
  };
}
