import type { Plant } from '../plant.js';
import { smallJob } from './jobs.js';
import { killTheFirst, lakesWithAWayBack, nightTasks, stepAway } from './short-tasks.js';

/** More runs without a planted mistake. Each has a task of one question and one answer. */

const away: Plant = {
  name: 'by-others.one-step-away',
  open: ({ experimentDir }) =>
    smallJob({
      experimentDir,
      steps: 14,
      workflow: stepAway,
      tasks: lakesWithAWayBack(201, 80),
      settings: { seed: 31, batchSize: 12, numRepeat: 7, lr: 8e-4 },
      trainerCommon: { testFreq: 14 },
    }),
};

const night: Plant = {
  name: 'by-others.first-victim',
  open: ({ experimentDir }) =>
    smallJob({
      experimentDir,
      steps: 15,
      workflow: killTheFirst,
      tasks: nightTasks(203, 100),
      rollout: { temperature: 0.9, maxResponseLengthInOneTurn: 16 },
      settings: { algorithm: 'dr_grpo', seed: 33, batchSize: 10, numRepeat: 10, lr: 1e-3 },
      trainerCommon: { testFreq: 5, optim: { lrSchedulerType: 'linear' } },
    }),
};

export const moreHealthy: readonly Plant[] = [away, night];
