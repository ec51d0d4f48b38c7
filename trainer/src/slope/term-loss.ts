import type { LossOptions } from '@agentjet/core';

/** One term of the loss, as `LossTerms` holds it, with the reference logprob of its token. */
export type Term = { readonly advantage: number; readonly behaviour: number; readonly reference: number };

/**
 * The loss of one term and its derivative by the logprob, without the entropy bonus, which needs the whole
 * distribution.
 */
export type TermLoss = {
  readonly loss: number;
  readonly slope: number;
  readonly kl: number;
  readonly clipped: boolean;
};

/**
 * Computes the formulas at `LossOptions` in @agentjet/core in double precision. Tests compare every backbone with this
 * function.
 */
export function termLoss(logprob: number, term: Term, options: LossOptions): TermLoss {
  if (options.kind === 'sft') return { loss: -logprob, slope: -1, kl: 0, clipped: false };
  const policy = clippedPolicyLoss(Math.exp(logprob - term.behaviour), term.advantage, options);
  if (options.klCoef === 0) return { ...policy, kl: 0 };
  const kl = klEstimate(term.reference - logprob, options.klEstimator);
  return {
    loss: policy.loss + options.klCoef * kl.value,
    slope: policy.slope + options.klCoef * kl.slope,
    kl: kl.value,
    clipped: policy.clipped,
  };
}

type PolicyOptions = Extract<LossOptions, { kind: 'policy' }>;

/** Returns PPO's loss for a ratio r, and its derivative by the logprob. The derivative of r must be r. */
export function clippedPolicyLoss(
  ratio: number,
  advantage: number,
  { clipLow, clipHigh, dualClip }: Pick<PolicyOptions, 'clipLow' | 'clipHigh' | 'dualClip'>,
): Omit<TermLoss, 'kl'> {
  const free = ratio * advantage;
  const bounded = Math.min(Math.max(ratio, 1 - clipLow), 1 + clipHigh) * advantage;
  const clipped = bounded < free;
  const loss = -Math.min(free, bounded);
  if (dualClip > 0 && advantage < 0 && loss > -dualClip * advantage)
    return { loss: -dualClip * advantage, slope: 0, clipped: true };
  return { loss, slope: clipped ? 0 : -free, clipped };
}

/** Estimates KL(policy, reference) from d = reference - logprob, and its derivative by the logprob. */
export function klEstimate(
  d: number,
  estimator: PolicyOptions['klEstimator'],
): { readonly value: number; readonly slope: number } {
  switch (estimator) {
    case 'k1':
      return { value: -d, slope: 1 };
    case 'k2':
      return { value: (d * d) / 2, slope: -d };
    case 'k3':
      return { value: Math.exp(d) - d - 1, slope: 1 - Math.exp(d) };
  }
}
