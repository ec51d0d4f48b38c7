import type { Sample } from '@agentjet/core';

/** The relative rounding error of an advantage, which is a float32. */
const rounding = 1e-6;

/**
 * Changes the samples' advantages to (A - mean) / (std + 1e-8). Mean and standard deviation are over all trained tokens
 * of `samples`, as in the batch normalisation of REINFORCE++ (Hu et al. 2025, eq. 8). If all advantages are equal, or
 * differ only by rounding, they become 0. Otherwise the division would turn rounding errors into advantages of full
 * size.
 */
export function whitenAdvantages(samples: readonly Sample[]): (sample: Sample) => Sample {
  const trained = samples.flatMap(({ lossMask, advantages }) =>
    Array.from(advantages).filter((_, t) => lossMask[t] === 1),
  );
  const mean = trained.reduce((sum, value) => sum + value, 0) / Math.max(trained.length, 1);
  const variance = trained.reduce((sum, value) => sum + (value - mean) ** 2, 0) / Math.max(trained.length, 1);
  const largest = trained.reduce((most, value) => Math.max(most, Math.abs(value)), 0);
  const scale = Math.sqrt(variance) <= rounding * largest ? 0 : 1 / (Math.sqrt(variance) + 1e-8);
  return (sample) => ({
    ...sample,
    advantages: sample.advantages.map((value, t) => (sample.lossMask[t] === 1 ? (value - mean) * scale : 0)),
  });
}
