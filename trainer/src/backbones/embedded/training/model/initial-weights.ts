/** Makes random weights for a model that starts from nothing. */

import { createRandom } from '@agentjet/core';
import type { Random } from '@agentjet/core';
import type { ModelConfig } from './model-config.js';
import type { ParameterLayout } from './parameter-layout.js';

export type InitialWeightsOptions = {
  readonly seed: number;
  /** Standard deviation of the matrices. Defaults to 0.02, as in transformers. */
  readonly standardDeviation?: number;
};

/**
 * Returns weights of shape [layout.length]. Matrices are drawn from a normal distribution, and those that write into
 * the residual stream are scaled by 1 / sqrt(2 numLayers) (Radford et al. 2019). Norms are 1 and biases are 0.
 */
export function initialWeights(
  config: ModelConfig,
  layout: ParameterLayout,
  options: InitialWeightsOptions,
): Float32Array {
  const random = createRandom(options.seed);
  const weights = new Float32Array(layout.length);
  for (const { name, shape, offset, size } of layout.parameters) {
    const view = weights.subarray(offset, offset + size);
    if (name.endsWith('norm.weight')) view.fill(1);
    if (shape.length !== 2) continue;
    const isResidual = /\.(o_proj|down_proj)\.weight$/.test(name);
    const deviation = (options.standardDeviation ?? 0.02) * (isResidual ? 1 / Math.sqrt(2 * config.numLayers) : 1);
    for (let index = 0; index < size; index++) view[index] = deviation * normal(random);
  }
  return weights;
}

/** Draws from the normal distribution (Box and Muller 1958). */
function normal(random: Random): number {
  return Math.sqrt(-2 * Math.log(1 - random.next())) * Math.cos(2 * Math.PI * random.next());
}
