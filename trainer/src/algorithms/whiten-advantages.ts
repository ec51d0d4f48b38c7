import type { Sample } from '@agentjet/core';

/**
 * Makes samples' advantages (A - mean) / (std + 1e-8), mean and standard deviation over all trained tokens of `samples`:
 * the normalisation over the whole batch of REINFORCE++ (Hu et al. 2025, eq. 8). Where all are equal they become 0.
 */
export function whitenAdvantages(samples: readonly Sample[]): (sample: Sample) => Sample {
  const trained = samples.flatMap(({ lossMask, advantages }) =>
    Array.from(advantages).filter((_, t) => lossMask[t] === 1),
  );
  const mean = trained.reduce((sum, value) => sum + value, 0) / Math.max(trained.length, 1);
  const variance = trained.reduce((sum, value) => sum + (value - mean) ** 2, 0) / Math.max(trained.length, 1);
  const scale = 1 / (Math.sqrt(variance) + 1e-8);
  return (sample) => ({
    ...sample,
    advantages: sample.advantages.map((value, t) => (sample.lossMask[t] === 1 ? (value - mean) * scale : 0)),
  });
}
