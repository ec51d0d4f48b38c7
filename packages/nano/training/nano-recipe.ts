import type { OptimizerOptions } from '@agentjet/core';

/** Everything that decides what the nano model becomes. The same recipe makes the same data. */
export const recipe = {
  seed: 20261121,
  vocabSize: 640,
  contextLength: 2048,
  hiddenSize: 96,
  numLayers: 4,
  numHeads: 4,
  numKeyHeads: 2,
  intermediateSize: 256,
  /** Tokens of transcripts per optimizer step, before sharing. */
  tokensPerStep: 4096,
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

/** `reading`: whole transcripts are learned as text. `answering`: only what the teacher wrote. */
export type LessonPlan = {
  readonly lesson: 'reading' | 'answering';
  readonly numSteps: number;
  /** Of the optimizer when the lesson is the first in its folder. */
  readonly learningRate: number;
  /** Order of the transcripts. */
  readonly seed: number;
};

/** The third goes over the answers again with small steps, where the second has only begun to look names up. */
export const lessons = [
  { lesson: 'reading', numSteps: 150, learningRate: 3e-3, seed: recipe.seed },
  { lesson: 'answering', numSteps: 2000, learningRate: 3e-3, seed: recipe.seed + 1 },
  { lesson: 'answering', numSteps: 800, learningRate: 1.5e-3, seed: recipe.seed + 2 },
] as const satisfies readonly LessonPlan[];

/** One warmup and one cosine over lessons that follow one another. */
export function planOptimizer(plans: readonly [LessonPlan, ...LessonPlan[]]): OptimizerOptions {
  return {
    learningRate: plans[0].learningRate,
    beta1: 0.9,
    beta2: 0.98,
    epsilon: 1e-8,
    weightDecay: 0.01,
    maxGradNorm: 1,
    schedule: 'cosine',
    warmupSteps: 40,
    totalSteps: plans.reduce((sum, { numSteps }) => sum + numSteps, 0),
  };
}
