import type { OptimizerOptions } from '@agentjet/core';
import { initialWeights } from '../onnx/model/initial-weights.js';
import { parseModelConfig } from '../onnx/model/model-config.js';
import { parameterLayout } from '../onnx/model/parameter-layout.js';
import { OnnxModel } from '../onnx/onnx-model.js';

export type RandomModelOptions = {
  /** Content of a Hugging Face config.json. */
  readonly configJson: object;
  readonly seed: number;
  readonly optimizer: OptimizerOptions;
  /** Default 2. */
  readonly threads?: number;
};

/** The embedded model in this thread, freshly initialised: for benchmarks and for tests that look at its gradients. */
export function createRandomOnnxModel({ configJson, seed, optimizer, threads = 2 }: RandomModelOptions): OnnxModel {
  const config = parseModelConfig(configJson);
  return new OnnxModel({
    config,
    weights: initialWeights(config, parameterLayout(config), { seed }),
    optimizer,
    threads,
  });
}
