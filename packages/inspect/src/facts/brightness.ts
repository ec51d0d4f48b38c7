const numSteps = 5;

/** The brightness of a sampled token, from 0 (unlikely) to 4 (nearly certain). */
export function brightnessOf(logprob: number): number {
  return Math.min(numSteps - 1, Math.floor(Math.exp(logprob) * numSteps));
}
