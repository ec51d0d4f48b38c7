import type { OptimizerOptions } from '@agentjet/core';

/** Everything that decides what the nano model becomes. The same recipe makes the same data. */
export const recipe = {
  seed: 20261121,
  vocabSize: 512,
  contextLength: 2048,
  hiddenSize: 96,
  numLayers: 4,
  numHeads: 4,
  numKeyHeads: 2,
  intermediateSize: 256,
  /** Tokens of transcripts per optimizer step, before sharing. */
  tokensPerStep: 8192,
  /** First whole transcripts are learned as text, then the answers alone. */
  readingSteps: 350,
  answeringSteps: 250,
  learningRate: 3e-3,
  warmupSteps: 40,
  initialDeviation: 0.05,
} as const;

/** config.json of transformers. */
export const configJson = {
  architectures: ['Qwen2ForCausalLM'],
  model_type: 'qwen2',
  vocab_size: recipe.vocabSize,
  hidden_size: recipe.hiddenSize,
  num_hidden_layers: recipe.numLayers,
  num_attention_heads: recipe.numHeads,
  num_key_value_heads: recipe.numKeyHeads,
  intermediate_size: recipe.intermediateSize,
  max_position_embeddings: recipe.contextLength,
  rms_norm_eps: 1e-6,
  rope_theta: 10_000,
  hidden_act: 'silu',
  attention_dropout: 0,
  tie_word_embeddings: true,
  use_sliding_window: false,
  torch_dtype: 'float32',
};

export const optimizer: OptimizerOptions = {
  learningRate: recipe.learningRate,
  beta1: 0.9,
  beta2: 0.98,
  epsilon: 1e-8,
  weightDecay: 0.01,
  maxGradNorm: 1,
  schedule: 'cosine',
  warmupSteps: recipe.warmupSteps,
  totalSteps: recipe.readingSteps + recipe.answeringSteps,
};
