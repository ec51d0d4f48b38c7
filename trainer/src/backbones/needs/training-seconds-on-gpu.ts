import type { Gpus, ResourceNeed } from '@agentjet/core';
import { publishedPeak } from './gpu-rates.js';
import type { ModelShape } from './model-shape.js';
import type { Workload } from './workload.js';

/**
 * Estimates the training time of one step on GPUs. The speed of sampling depends on the sampler and is not estimated.
 * `share` is the share of the published peak that the backbone reached in measurements; other GPUs are assumed to reach
 * the same share.
 */
export function trainingSecondsOnGpu(
  shape: ModelShape,
  workload: Workload,
  { gpus, share }: { readonly gpus: Gpus; readonly share: number },
): Pick<ResourceNeed, 'stepSeconds' | 'timeUnknown'> {
  if (gpus.name === null)
    return { stepSeconds: null, timeUnknown: 'no GPU is named; pass --gpu-name, such as --gpu-name H100' };
  const peak = publishedPeak(gpus.name);
  if (peak === undefined)
    return { stepSeconds: null, timeUnknown: `the speed of a GPU named "${gpus.name}" is not known` };
  const { tasks, promptTokens, episodes, answerTokens, longestSample } = workload;
  const tokens = tasks * promptTokens + episodes * answerTokens;
  const attention = shape.numLayers * shape.queryWidth * longestSample;
  const work = 6 * tokens * (shape.activeParameters + attention) + 6 * episodes * answerTokens * shape.headParameters;
  return { stepSeconds: work / (share * peak * gpus.count) };
}

/** Estimates the time that GPUs need to score the tokens of a step. A forward pass is a third of training. */
export function scoringSecondsOnGpu(...step: Parameters<typeof trainingSecondsOnGpu>): number {
  return (trainingSecondsOnGpu(...step).stepSeconds ?? 0) / 3;
}
