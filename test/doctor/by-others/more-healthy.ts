import { topicNames } from '#tutorial/learning-to-ask/ailments.js';
import type { Patient } from '#tutorial/learning-to-ask/patients.js';
import type { Plant } from '../plant.js';
import { patients, smallJob } from './jobs.js';
import { askOneQuestion, asksExactly, killTheFirst, lakesWithAWayBack, nightTasks, stepAway } from './short-tasks.js';

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

const fullQuestion: Plant = {
  name: 'by-others.first-question-in-full',
  open: ({ experimentDir }) =>
    smallJob({
      experimentDir,
      steps: 15,
      workflow: askOneQuestion,
      judge: ({ metadata }, output) => {
        const isSuccess = asksExactly((metadata as Patient).hidden, output);
        return { reward: isSuccess ? 1 : 0, isSuccess };
      },
      tasks: patients(204, 100),
      rollout: { maxResponseLengthInOneTurn: 32 },
      settings: { model: 'micro', algorithm: 'rloo', seed: 34, batchSize: 14, numRepeat: 8, lr: 5e-4 },
      trainerCommon: { testFreq: 15 },
    }),
};

/** The question has to be about something that does not matter for the ailment. */
const smallTalk: Plant = {
  name: 'by-others.small-talk',
  open: ({ experimentDir }) =>
    smallJob({
      experimentDir,
      steps: 15,
      workflow: askOneQuestion,
      judge: ({ metadata }, output) => {
        const { facts } = metadata as Patient;
        const others = topicNames.filter((topic) => !(topic in facts));
        const isSuccess = asksExactly(others, output);
        return { reward: isSuccess ? 1 : 0, isSuccess };
      },
      tasks: patients(205, 100),
      rollout: { maxResponseLengthInOneTurn: 24 },
      settings: { model: 'micro', algorithm: 'maxrl', seed: 35, batchSize: 10, numRepeat: 9, lr: 4e-4 },
      trainerCommon: { testFreq: 15, entropyCoeff: 0.001 },
    }),
};

export const moreHealthy: readonly Plant[] = [away, night, fullQuestion, smallTalk];
