import type { Sample } from '@agentjet/core';
import type { LessonPlan } from './lesson-plan.js';

/**
 * Marks the tokens that the model has to predict. In `reading`, these are all tokens except the first. In the other
 * lessons, these are the tokens of the loss mask: repetitions, or the teacher's words.
 */
export function supervise(sample: Sample, lesson: LessonPlan['lesson']): Sample {
  if (lesson !== 'reading') return { ...sample, advantages: Float32Array.from(sample.lossMask) };
  const lossMask = sample.ids.map((_, index) => Math.min(index, 1));
  return {
    ...sample,
    lossMask: Uint8Array.from(lossMask),
    advantages: Float32Array.from(lossMask),
    policyVersions: lossMask.map((mask) => mask - 1),
  };
}
