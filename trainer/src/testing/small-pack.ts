import type { TreePack } from '@agentjet/core';

/** Returns the worked example of core's TreePack, with the logprobs of its two answers. */
export function smallPack(logprobs: readonly [number, number] = [-4, -4]): TreePack {
  return {
    ids: Int32Array.of(5, 6, 7, 8),
    positions: Int32Array.of(0, 1, 2, 2),
    ends: Int32Array.of(4, 4, 3, 4),
    predictors: Int32Array.of(1, 1),
    targets: Int32Array.of(7, 8),
    rowTokens: 6,
    terms: {
      pair: Int32Array.of(0, 1),
      sequence: Int32Array.of(0, 1),
      weights: Float32Array.of(0.5, 0.5),
      advantages: Float32Array.of(1, -1),
      logprobs: Float32Array.from(logprobs),
    },
  };
}
