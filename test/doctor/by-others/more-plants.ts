import { directions } from '#tutorial/frozen-lake/frozen-lake.js';
import type { Patient } from '#tutorial/learning-to-ask/patients.js';
import type { Task } from 'agentjet';
import type { Plant } from '../plant.js';
import { lakes, patients, smallJob, type Tasks } from './jobs.js';
import {
  askOneQuestion,
  asksAgain,
  asksExactly,
  asksNews,
  lakesWithAWayBack,
  stepAway,
  stepOnce,
} from './short-tasks.js';

/** More mistakes of users, one in each run. The expected causes were written before the runs were made. */

/** Labels each lake with a direction, all four equally often. Lakes and labels are in no common order. */
function withUnrelatedLabels({ training, validation }: Tasks): Tasks {
  const label = (task: Task, at: number): Task => ({
    ...task,
    metadata: { ...task.metadata, label: directions[at % directions.length] },
  });
  return { training: training.map(label), validation: validation.map(label) };
}

/** Someone sorted the lakes but not the file with their labels, so each lake has the label of another one. */
const sortedFile: Plant = {
  name: 'by-others.one-file-sorted',
  cause: 'no_gain',
  open: ({ experimentDir }) =>
    smallJob({
      experimentDir,
      steps: 15,
      workflow: stepOnce,
      judge: ({ metadata }, output) => {
        const isSuccess = output.metadata?.['answer'] === metadata['label'];
        return { reward: isSuccess ? 1 : 0, isSuccess };
      },
      tasks: withUnrelatedLabels(lakes(211, 80)),
      settings: { seed: 41, batchSize: 12 },
      trainerCommon: { testFreq: 5 },
    }),
};

/** The judge rewards the fact that the patient has stated. Success needs one of the facts that it has not. */
const statedFact: Plant = {
  name: 'by-others.reward-for-the-stated-fact',
  cause: 'hollow_reward',
  open: ({ experimentDir }) =>
    smallJob({
      experimentDir,
      steps: 15,
      workflow: askOneQuestion,
      judge: (task, output) => ({ reward: asksAgain(task, output) ? 1 : 0, isSuccess: asksNews(task, output) }),
      tasks: patients(212, 80),
      rollout: { maxResponseLengthInOneTurn: 32 },
      settings: { model: 'micro', seed: 42, batchSize: 12, lr: 1e-3 },
      trainerCommon: { testFreq: 5 },
    }),
};

/** The clip range is the one for GSPO, but the loss is PPO's. Each batch gives eight updates at a low rate. */
const rangeOfGspo: Plant = {
  name: 'by-others.clip-range-of-gspo',
  cause: 'clipped_away',
  open: ({ experimentDir }) =>
    smallJob({
      experimentDir,
      steps: 10,
      workflow: stepAway,
      tasks: lakesWithAWayBack(213, 80),
      settings: { seed: 43, batchSize: 8, lr: 5e-5, miniBatchNum: 2 },
      trainerCommon: { testFreq: 5, ppoEpochs: 4, clipRatioLow: 0.0003, clipRatioHigh: 0.0003 },
    }),
};

/** The limit of an answer was counted in words, so most questions lose their ends. */
const fourWords: Plant = {
  name: 'by-others.limit-in-words',
  cause: 'cut_answers',
  open: ({ experimentDir }) =>
    smallJob({
      experimentDir,
      steps: 10,
      workflow: askOneQuestion,
      judge: ({ metadata }, output) => {
        const isSuccess = asksExactly((metadata as Patient).hidden, output);
        return { reward: isSuccess ? 1 : 0, isSuccess };
      },
      tasks: patients(216, 80),
      rollout: { maxResponseLengthInOneTurn: 4 },
      settings: { model: 'micro', seed: 46, batchSize: 10 },
      trainerCommon: { testFreq: 5 },
    }),
};

export const morePlants: readonly Plant[] = [sortedFile, statedFact, rangeOfGspo, fourWords];
