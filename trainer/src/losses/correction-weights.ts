import type { ImportanceCorrection, SlopeTerms } from '@agentjet/core';
import { bySequence, maxLogRatio } from './by-sequence.js';

/**
 * Returns the importance weight of each term, and 1 in `limited` if a limit changed it. Truncated: Yao et al. 2025, "Your
 * Efficient RL Framework Secretly Brings You Off-Policy RL Training" (TIS). Masked above a limit: Liu, Li et al. 2025,
 * "When Speed Kills Stability" (MIS). Masked on both sides: Ling Team 2025, "Every Step Evolves" (IcePop).
 */
export function correctionWeights(
  terms: SlopeTerms,
  { level, mode, lower, upper }: ImportanceCorrection,
): { readonly weights: Float64Array; readonly limited: Uint8Array } {
  const anchor = terms.proximal ?? terms.logprobs;
  const logs = anchor.map((logprob, k) => logprob - (terms.behaviour[k] ?? 0));
  const ofLevel = level === 'token' ? logs : bySequence(terms, logs, level === 'sequence' ? 'sum' : 'mean');
  const ratios = ofLevel.map((value) => Math.exp(Math.min(value, maxLogRatio)));
  const limited = Uint8Array.from(ratios, (ratio) => (ratio < lower || ratio > upper ? 1 : 0));
  const weights = ratios.map((ratio, k) => {
    if (limited[k] === 0) return ratio;
    return mode === 'mask' ? 0 : Math.min(Math.max(ratio, lower), upper);
  });
  return { weights, limited };
}
