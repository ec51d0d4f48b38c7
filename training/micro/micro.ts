import type { OptimizerOptions } from '@agentjet/core';
import type { LessonPlan } from '../shared/lesson-plan.js';
import type { Recipe } from '../shared/recipe.js';
import { courses } from './courses.js';

const vocabSize = 1280;
const contextLength = 2048;

/** The lessons of nano: copying comes first, for the same reason. */
const lessons: readonly LessonPlan[] = [
  { lesson: 'copying', numSteps: 800, tokensPerStep: 2048 },
  { lesson: 'reading', numSteps: 100, tokensPerStep: 4096 },
  { lesson: 'answering', numSteps: 900, tokensPerStep: 4096 },
];

const optimizer: OptimizerOptions = {
  learningRate: 2e-3,
  beta1: 0.9,
  beta2: 0.95,
  epsilon: 1e-8,
  weightDecay: 0.01,
  maxGradNorm: 1,
  schedule: 'cosine',
  warmupSteps: 40,
  totalSteps: 2400, // the lessons end before the cosine does: what is left to learn is for reinforcement learning
};

/** Twice as large as nano, with twice as many words and four tools. */
export const micro: Recipe = {
  name: 'micro',
  seed: 20261122,
  vocabSize,
  contextLength,
  initialDeviation: 0.05,
  threads: 1,
  configJson: {
    architectures: ['Qwen2ForCausalLM'],
    model_type: 'qwen2',
    vocab_size: vocabSize,
    hidden_size: 128,
    num_hidden_layers: 4,
    num_attention_heads: 4,
    num_key_value_heads: 2,
    intermediate_size: 352,
    max_position_embeddings: contextLength,
    rms_norm_eps: 1e-6,
    rope_theta: 10_000,
    hidden_act: 'silu',
    attention_dropout: 0,
    tie_word_embeddings: true,
    use_sliding_window: false,
    torch_dtype: 'float32',
  },
  courses,
  lessons,
  optimizer,
  card: {
    purpose: 'for the tutorials of AgentJet about questions, offices, documents and families of problems.',
    teachers: `one asks by
habit and two things at once, and one time in four what it should; one looks people up and then uses the wrong app; one searches for half of what it should; one takes every animal for
one with four legs.`,
  },
};
