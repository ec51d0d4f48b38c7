const numSteps = 5;

/** How brightly a sampled token is shown: 0 (unlikely) to 4 (nearly certain). */
export function brightnessOf(logprob: number): number {
  return Math.min(numSteps - 1, Math.floor(Math.exp(logprob) * numSteps));
}
