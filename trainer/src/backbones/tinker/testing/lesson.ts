import type { LossOptions, TrainBatch } from '@agentjet/core';

/** The ids of the lesson. */
export const row = Int32Array.of(1, 2, 3, 4, 0, 1);

/** Makes one row whose last two tokens are trained. */
export function lesson(loss: LossOptions = { kind: 'sft' }): TrainBatch {
  const pack = {
    ids: row,
    positions: Int32Array.from(row.keys()),
    ends: new Int32Array(row.length).fill(row.length),
    predictors: Int32Array.of(3, 4),
    targets: Int32Array.of(0, 1),
    terms: {
      pair: Int32Array.of(0, 1),
      sequence: Int32Array.of(0, 0),
      weights: Float32Array.of(0.5, 0.5),
      advantages: Float32Array.of(1, -1),
      logprobs: Float32Array.of(-1.5, -1.6),
    },
    rowTokens: row.length,
  };
  return { packs: [pack], loss };
}
