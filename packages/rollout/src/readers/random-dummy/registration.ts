import { setting, z } from '@agentjet/core';
import { defineReader } from '../../tasks/task-reader.js';

const mostTasks = 100_000_000;

export const randomDummy = defineReader({
  name: 'random_dummy',
  section: z
    .strictObject({
      training: z.strictObject({ num_tasks: setting(z.int().min(1).max(mostTasks), 1000) }),
      validation: z.strictObject({ num_tasks: setting(z.int().min(0).max(mostTasks), 64) }),
    })
    .describe('tasks without text: metadata.random_number is all they have'),
  async open({ training, validation }, { config }) {
    const { createRandomTaskReader } = await import('./random-tasks.js');
    return createRandomTaskReader({
      numTraining: training.numTasks,
      numValidation: validation.numTasks,
      seed: config.trainerCommon.seed,
    });
  },
});
