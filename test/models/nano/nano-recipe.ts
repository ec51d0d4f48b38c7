import type { LessonPlan } from '../shared/lesson-plan.js';
import { createConfigJson, createOptimizer } from '../shared/qwen2-recipe.js';

/** Everything that the nano model depends on. The same recipe makes the same data. */
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

export const configJson = createConfigJson(recipe);

/**
 * The answers repeat numbers and names from the questions, so the model has to learn to copy. If it learned from
 * transcripts alone, their order would decide how soon it learns to copy. After the first lesson, it copies within the
 * first hundreds of steps of `answering`.
 */
export const lessons: readonly LessonPlan[] = [
  { lesson: 'copying', numSteps: 800, tokensPerStep: 2048 },
  { lesson: 'reading', numSteps: 150, tokensPerStep: 4096 },
  { lesson: 'answering', numSteps: 2000, tokensPerStep: 4096 },
];

export const optimizer = createOptimizer(lessons.reduce((sum, { numSteps }) => sum + numSteps, 0));
