import { adamOptions } from '@agentjet/trainer/testing';
import type { OptimizerOptions } from '@agentjet/core';

export type Qwen2Size = {
  readonly vocabSize: number;
  readonly contextLength: number;
  readonly hiddenSize: number;
  readonly numLayers: number;
  readonly numHeads: number;
  readonly numKvHeads: number;
  readonly intermediateSize: number;
};

/** Returns the config.json of transformers for a model in the shape of Qwen2. */
export const createConfigJson = (size: Qwen2Size) => ({
  architectures: ['Qwen2ForCausalLM'],
  model_type: 'qwen2',
  vocab_size: size.vocabSize,
  hidden_size: size.hiddenSize,
  num_hidden_layers: size.numLayers,
  num_attention_heads: size.numHeads,
  num_key_value_heads: size.numKvHeads,
  intermediate_size: size.intermediateSize,
  max_position_embeddings: size.contextLength,
  rms_norm_eps: 1e-6,
  rope_theta: 10_000,
  hidden_act: 'silu',
  attention_dropout: 0,
  tie_word_embeddings: true,
  use_sliding_window: false,
  torch_dtype: 'float32',
});

/** Returns the settings of an optimizer with a warmup and then one cosine over `totalSteps`. */
export const createOptimizer = (totalSteps: number): OptimizerOptions =>
  adamOptions(2e-3, {
    beta2: 0.95,
    weightDecay: 0.01,
    maxGradNorm: 1,
    schedule: 'cosine',
    warmupSteps: 40,
    totalSteps,
  });
