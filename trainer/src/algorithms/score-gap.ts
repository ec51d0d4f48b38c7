/**
 * Logprobs of the same token that differ by less than this, in nats, are taken to differ by rounding alone: a sampler
 * and a trainer, or two models, compute the same weights in another order.
 */
export const logprobRounding = 1e-4;

/**
 * Returns log scorer - log policy of a token, or 0 if rounding alone may explain the difference. Otherwise Adam, and the
 * division by a deviation, would make updates of full size from rounding errors.
 */
export function scoreGap(scorer: number, policy: number): number {
  const gap = scorer - policy;
  return Math.abs(gap) < logprobRounding ? 0 : gap;
}
