/** Computes the learning rate over optimizer steps. */

import type { OptimizerOptions } from '@agentjet/core';

/**
 * Returns the rate of step `step`, counted from 0. During warmup it is (step + 1) / warmupSteps of the full rate. Then
 * it is constant, or falls until `totalSteps`: linearly, along half a cosine (Loshchilov and Hutter 2017), or linearly
 * in only the last `decaySteps` steps (warmup-stable-decay: Hu et al. 2024, "MiniCPM"; the linear decay: Hägele et al.
 * 2024, "Scaling Laws and Compute-Optimal Training Beyond Fixed Training Durations"). It falls to `minRateShare` of the
 * full rate and stays there. If `totalSteps` is 0, the end is not known, and the rate does not fall.
 */
export function learningRateAt(options: OptimizerOptions, step: number): number {
  const { learningRate, schedule, warmupSteps, totalSteps, minRateShare = 0 } = options;
  if (step < warmupSteps) return (learningRate * (step + 1)) / warmupSteps;
  if (schedule === 'constant' || totalSteps === 0) return learningRate;
  const progress = Math.max(0, Math.min(1, (step - startOf(options)) / Math.max(1, totalSteps - startOf(options))));
  const share = schedule === 'cosine' ? (1 + Math.cos(Math.PI * progress)) / 2 : 1 - progress;
  return learningRate * (minRateShare + (1 - minRateShare) * share);
}

/** Returns the step from which the rate falls. */
function startOf({
  schedule,
  warmupSteps,
  totalSteps,
  decaySteps = Math.ceil(totalSteps / 10),
}: OptimizerOptions): number {
  return schedule === 'warmup_stable_decay' ? Math.max(warmupSteps, totalSteps - decaySteps) : warmupSteps;
}
