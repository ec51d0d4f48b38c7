import { findName } from '#tutorial/werewolves/village.js';
import { answerOf, patients, smallJob } from './by-others/jobs.js';
import { askOneQuestion, asksNews, killTheFirst, nightTasks } from './by-others/short-tasks.js';
import { openTutorial } from './open-tutorial.js';
import type { Plant } from './plant.js';

/**
 * A fifth round: runs without a planted mistake, with other tasks, models, algorithms and sizes of batches. They were
 * trained after the rules had been frozen, so that no rule has seen them.
 */

type Settings = {
  readonly steps: number;
  readonly seed: number;
  readonly batch: number;
  readonly group: number;
  readonly rate: number;
  /** Steps between two evaluations. Default: half of the steps. */
  readonly evaluatedEach?: number;
  readonly algorithm?: string;
};

const run = (name: string, file: string, settings: Settings): Plant => ({
  name: `round-5.${name}`,
  open: ({ experimentDir }) => {
    const { steps, seed, batch, group, rate, algorithm = 'grpo' } = settings;
    const { evaluatedEach = Math.ceil(steps / 2) } = settings;
    return openTutorial(file, experimentDir, [
      `trainer_common.total_training_steps=${steps}`,
      `trainer_common.test_freq=${evaluatedEach}`,
      'trainer_common.save_freq=0',
      `trainer_common.seed=${seed}`,
      `trainer_common.optim.lr=${rate}`,
      `trainer_common.algorithm.adv_estimator=${algorithm}`,
      `data.train_batch_size=${batch}`,
      `rollout.num_repeat=${group}`,
    ]);
  },
});

export const healthyOfRound5: readonly Plant[] = [
  run('lake-as-a-world', 'environments/environments.yaml', {
    steps: 10,
    evaluatedEach: 10,
    seed: 51,
    batch: 10,
    group: 6,
    rate: 8e-4,
    algorithm: 'rloo',
  }),
  run('planner-and-worker', 'two-models/one_model.yaml', {
    steps: 26,
    seed: 55,
    batch: 6,
    group: 8,
    rate: 1e-3,
    algorithm: 'maxrl',
  }),
  run('poker-smollm2', 'two-players/two_players.yaml', {
    steps: 16,
    seed: 58,
    batch: 10,
    group: 8,
    rate: 3e-5,
    algorithm: 'rloo',
  }),
  run('orders-smollm2', 'json-extraction/json_extraction.yaml', {
    steps: 8,
    seed: 59,
    batch: 6,
    group: 6,
    rate: 4e-5,
    algorithm: 'maxrl',
  }),
  {
    name: 'round-5.name-the-second-player',
    open: ({ experimentDir }) =>
      smallJob({
        experimentDir,
        steps: 16,
        workflow: async (task, tuner) => ({ metadata: (await killTheFirst(task, tuner)).metadata ?? {} }),
        judge: ({ metadata }, output) => {
          const isSuccess = findName(answerOf(output)) === (metadata['others'] as readonly string[])[1];
          return { reward: isSuccess ? 1 : 0, isSuccess };
        },
        tasks: nightTasks(501, 80),
        rollout: { maxResponseLengthInOneTurn: 16 },
        settings: { algorithm: 'dr_grpo', seed: 60, batchSize: 14, numRepeat: 6, lr: 9e-4 },
        trainerCommon: { testFreq: 8, optim: { lrSchedulerType: 'cosine' } },
      }),
  },
  {
    name: 'round-5.ask-for-a-hidden-fact',
    open: ({ experimentDir }) =>
      smallJob({
        experimentDir,
        steps: 16,
        workflow: askOneQuestion,
        judge: (task, output) => {
          const isSuccess = asksNews(task, output);
          return { reward: isSuccess ? 1 : -1, isSuccess };
        },
        tasks: patients(504, 80),
        rollout: { maxResponseLengthInOneTurn: 24 },
        settings: { model: 'micro', algorithm: 'maxrl', seed: 63, batchSize: 16, numRepeat: 5, lr: 7e-4 },
        trainerCommon: { testFreq: 8, optim: { lrSchedulerType: 'linear' } },
      }),
  },
];
