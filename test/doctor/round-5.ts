import { openTutorial } from './open-tutorial.js';
import type { Plant } from './plant.js';

/**
 * A fifth round: tutorials without a planted mistake, with other models, algorithms and sizes of batches. They were
 * trained after the rules had been frozen, so that no rule has seen them.
 */

type Settings = {
  readonly steps: number;
  readonly seed: number;
  readonly batch: number;
  readonly group: number;
  readonly rate: number;
  readonly algorithm?: string;
  /** Settings that the others do not name. */
  readonly more?: readonly string[];
};

const run = (name: string, file: string, settings: Settings): Plant => ({
  name: `round-5.${name}`,
  open: ({ experimentDir }) => {
    const { steps, seed, batch, group, rate, algorithm = 'grpo', more = [] } = settings;
    return openTutorial(file, experimentDir, [
      `trainer_common.total_training_steps=${steps}`,
      `trainer_common.test_freq=${Math.ceil(steps / 2)}`,
      'trainer_common.save_freq=0',
      `trainer_common.seed=${seed}`,
      `trainer_common.optim.lr=${rate}`,
      `trainer_common.algorithm.adv_estimator=${algorithm}`,
      `data.train_batch_size=${batch}`,
      `rollout.num_repeat=${group}`,
      ...more,
    ]);
  },
});

export const healthyOfRound5: readonly Plant[] = [
  run('lake-as-a-world', 'environments/environments.yaml', {
    steps: 12,
    seed: 51,
    batch: 10,
    group: 6,
    rate: 8e-4,
    algorithm: 'rloo',
  }),
  run('office', 'office/office.yaml', {
    steps: 12,
    seed: 52,
    batch: 6,
    group: 6,
    rate: 1e-3,
    algorithm: 'dr_grpo',
  }),
  run('documents', 'documents/documents.yaml', {
    steps: 28,
    seed: 53,
    batch: 6,
    group: 6,
    rate: 1e-3,
  }),
  run('lake-in-bash', 'any-language/bash_agent.yaml', {
    steps: 12,
    seed: 54,
    batch: 6,
    group: 12,
    rate: 6e-4,
    algorithm: 'maxrl',
  }),
  run('planner-and-worker', 'two-models/one_model.yaml', {
    steps: 26,
    seed: 55,
    batch: 6,
    group: 8,
    rate: 1e-3,
    algorithm: 'maxrl',
  }),
  run('sums-with-micro', 'math-agent/math_agent.yaml', {
    steps: 18,
    seed: 56,
    batch: 8,
    group: 7,
    rate: 5e-4,
    algorithm: 'rloo',
    more: ['model.path=micro'],
  }),
  run('werewolves-in-small-groups', 'werewolves/werewolves.yaml', {
    steps: 11,
    seed: 57,
    batch: 8,
    group: 5,
    rate: 8e-4,
    algorithm: 'dr_grpo',
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
];
