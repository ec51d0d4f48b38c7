import path from 'node:path';
import { openTutorial } from './open-tutorial.js';
import type { Plant } from './plant.js';

/** Runs of the tutorials that learn by more than chance. Some are shorter than in the tutorial. */

type Tutorial = {
  readonly file: string;
  readonly steps: number;
  readonly seeds: readonly number[];
  readonly batch?: number;
};

const tutorials: readonly Tutorial[] = [
  { file: 'frozen-lake/frozen_lake.yaml', steps: 20, seeds: [1, 2], batch: 8 },
  { file: 'math-agent/math_agent.yaml', steps: 30, seeds: [1, 2], batch: 12 },
  { file: 'werewolves/werewolves.yaml', steps: 24, seeds: [1, 2] },
  { file: 'learning-to-ask/learning_to_ask.yaml', steps: 24, seeds: [1], batch: 8 },
  { file: 'office/office.yaml', steps: 18, seeds: [1], batch: 8 },
  { file: 'langgraph-graph/market.yaml', steps: 30, seeds: [1], batch: 12 },
];

export const healthy: readonly Plant[] = tutorials.flatMap(({ file, steps, seeds, batch }) =>
  seeds.map((seed) => ({
    name: `${path.dirname(file)}-${seed}`,
    open: ({ experimentDir }) =>
      openTutorial(file, experimentDir, [
        `trainer_common.total_training_steps=${steps}`,
        `trainer_common.test_freq=${steps}`,
        'trainer_common.save_freq=0',
        `trainer_common.seed=${seed}`,
        ...(batch === undefined ? [] : [`data.train_batch_size=${batch}`]),
      ]),
  })),
);
