import type { OptimizerOptions } from '@agentjet/core';
import { initialWeights } from '../backbones/embedded/training/model/initial-weights.js';
import { parseModelConfig } from '../backbones/embedded/training/model/model-config.js';
import { parameterLayout } from '../backbones/embedded/training/model/parameter-layout.js';
import { OnnxModel } from '../backbones/embedded/training/onnx-model.js';

export type RandomModelOptions = {
  /** The content of a Hugging Face config.json. */
  readonly configJson: object;
  readonly seed: number;
  readonly optimizer: OptimizerOptions;
  /** Defaults to 2. */
  readonly threads?: number;
};

/**
 * Opens the embedded model in this thread, freshly initialised, for benchmarks and for tests that look at its
 * gradients.
 */
export function createRandomOnnxModel({ configJson, seed, optimizer, threads = 2 }: RandomModelOptions): OnnxModel {
  const config = parseModelConfig(configJson);
  return new OnnxModel({
    config,
    weights: initialWeights(config, parameterLayout(config), { seed }),
    optimizer,
    threads,
  });
}
