import { ConfigError, type AgentJetConfig, type Backbone, type Engine, type OptimizerOptions } from '@agentjet/core';
import { createOnnxBackbone } from '@agentjet/trainer';
import { findModelDir } from './inputs/model-dir.js';

/** The backbone that the configuration names, with the weights of `model.path`. */
export async function openBackbone(config: AgentJetConfig, optimizer: OptimizerOptions): Promise<Backbone> {
  const modelDir = findModelDir(config.model.path);
  switch (config.backbone) {
    case 'onnx':
    case 'debug':
      return createOnnxBackbone({ modelDir, optimizer, seed: config.trainerCommon.seed, threads: config.onnx.numThreads });
    case 'torch':
      throw new ConfigError('no_backbone', 'The torch backbone is not installed. Use backbone: onnx.');
  }
}

/** The engine with `rollout.max_model_len` as its context, where the model's own is longer. */
export function limitContext(engine: Engine, maxModelLen: number): Engine {
  if (engine.contextLength <= maxModelLen) return engine;
  return { contextLength: maxModelLen, generate: (request) => engine.generate(request) };
}
