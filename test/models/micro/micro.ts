import type { LessonPlan } from '../shared/lesson-plan.js';
import { createConfigJson, createOptimizer } from '../shared/qwen2-recipe.js';
import type { Recipe } from '../shared/recipe.js';
import { courses } from './courses.js';

const vocabSize = 1280;
const contextLength = 2048;

/** The lessons are those of nano, in the same order. `packages/nano/README.md` explains why copying comes first. */
const lessons: readonly LessonPlan[] = [
  { lesson: 'copying', numSteps: 800, tokensPerStep: 2048 },
  { lesson: 'reading', numSteps: 100, tokensPerStep: 4096 },
  { lesson: 'answering', numSteps: 900, tokensPerStep: 4096 },
];

/** The cosine schedule is longer than the lessons, so that the model can still improve by reinforcement learning. */
const optimizer = createOptimizer(2400);

/** The model is twice as large as nano, with twice as many words and four tools. */
export const micro: Recipe = {
  name: 'micro',
  seed: 20261122,
  vocabSize,
  contextLength,
  initialDeviation: 0.05,
  threads: 1,
  configJson: createConfigJson({
    vocabSize,
    contextLength,
    hiddenSize: 128,
    numLayers: 4,
    numHeads: 4,
    numKvHeads: 2,
    intermediateSize: 352,
  }),
  courses,
  lessons,
  optimizer,
  card: {
    purpose: 'for the tutorials of AgentJet about questions, offices, documents and families of problems.',
    teachers: `one asks
two things at once out of habit, and asks the right question one time in four; one looks people up and then uses the wrong app; one searches for half of
the right words; one treats every animal as one with four legs.`,
  },
};
