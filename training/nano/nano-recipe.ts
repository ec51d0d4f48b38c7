import type { OptimizerOptions } from '@agentjet/core';
import type { LessonPlan } from '../shared/lesson-plan.js';

/** Everything that decides what the nano model becomes. The same recipe makes the same data. */
export const recipe = {
  seed: 20261121,
  vocabSize: 640,
  contextLength: 2048,
  hiddenSize: 96,
  numLayers: 4,
  numHeads: 4,
  numKvHeads: 2,
  intermediateSize: 256,
  initialDeviation: 0.05,
  threads: 1,
} as const;

/** config.json of transformers. */
export const configJson = {
  architectures: ['Qwen2ForCausalLM'],
  model_type: 'qwen2',
  vocab_size: recipe.vocabSize,
  hidden_size: recipe.hiddenSize,
  num_hidden_layers: recipe.numLayers,
  num_attention_heads: recipe.numHeads,
  num_key_value_heads: recipe.numKvHeads,
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

/**
 * The answers repeat numbers and names out of the questions. Learned from transcripts alone, copying appears early or
 * late by luck of their order; after the first lesson it appears within the first hundreds of answering.
 */
export const lessons: readonly LessonPlan[] = [
  { lesson: 'copying', numSteps: 800, tokensPerStep: 2048 },
  { lesson: 'reading', numSteps: 150, tokensPerStep: 4096 },
  { lesson: 'answering', numSteps: 2000, tokensPerStep: 4096 },
];

/** One warmup and one cosine over all lessons. */
export const optimizer: OptimizerOptions = {
  learningRate: 2e-3,
  beta1: 0.9,
  beta2: 0.95,
  epsilon: 1e-8,
  weightDecay: 0.01,
  maxGradNorm: 1,
  schedule: 'cosine',
  warmupSteps: 40,
  totalSteps: lessons.reduce((sum, { numSteps }) => sum + numSteps, 0),
};
