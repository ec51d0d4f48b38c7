import type { Sample } from '@agentjet/core';
import type { LessonPlan } from './lesson-plan.js';

/** `reading`: every token but the first is to be predicted; otherwise only what the loss mask says: repetitions, or what the teacher wrote. */
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
