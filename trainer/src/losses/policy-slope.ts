import type { ImportanceCorrection, LossOptions, LossSlope, SlopeReport, SlopeTerms } from '@agentjet/core';
import { clippedPolicyLoss } from '../slope/term-loss.js';
import { bySequence, maxLogRatio } from './by-sequence.js';
import { correctionWeights } from './correction-weights.js';

export type PolicyOptions = Pick<
  Extract<LossOptions, { kind: 'policy' }>,
  'objective' | 'clipLow' | 'clipHigh' | 'dualClip' | 'correction'
>;

/** A ratio that stops here has no slope: backbones that compute the loss themselves train no such token either. */
const largestRatio = Math.exp(maxLogRatio);

/** The loss of one term, its derivative by the term's logprob, and whether a limit took effect. */
type TermSlope = { readonly loss: number; readonly slope: number; readonly clipped: boolean };

/**
 * Makes the slope of a policy loss that a backbone does not compute itself. The ratio r is taken against the behaviour
 * logprobs. With a correction, it is taken against the weights that the batch began with, and each term is weighted.
 * `gspo` also takes it against these weights if the terms have their logprobs (see `needsProximal`).
 * - `ppo`: -min(r A, clip(r) A) with dual clip (see LossOptions).
 * - `gspo`: the same with s = exp(mean of the row's log ratios), whose gradient is that of sg(s) r / sg(r) (GSPO-token,
 *   Zheng et al. 2025, eq. 14).
 * - `cispo`: -sg(clip(r)) A logprob (MiniMax-M1, 2025).
 * - `reinforce`: -A logprob.
 */
export function createPolicySlope(options: PolicyOptions): LossSlope {
  return (terms) => {
    const old = oldLogprobs(terms, options);
    const logRatios = terms.logprobs.map((logprob, k) => logprob - (old[k] ?? 0));
    const ratios = (options.objective === 'gspo' ? bySequence(terms, logRatios, 'mean') : logRatios).map((value) =>
      Math.exp(Math.min(value, maxLogRatio)),
    );
    const found = Array.from(ratios, (ratio, k) => termSlope(ratio, k, terms, options));
    return options.correction === undefined ? toReport(found) : corrected(found, terms, options.correction);
  };
}

function oldLogprobs(terms: SlopeTerms, { objective, correction }: PolicyOptions): Float64Array {
  if (correction !== undefined) return terms.proximal ?? terms.logprobs;
  return objective === 'gspo' ? (terms.proximal ?? terms.behaviour) : terms.behaviour;
}

function termSlope(ratio: number, k: number, terms: SlopeTerms, options: PolicyOptions): TermSlope {
  const { objective = 'ppo', clipLow, clipHigh } = options;
  const [advantage, logprob] = [terms.advantages[k] ?? 0, terms.logprobs[k] ?? 0];
  if (objective === 'reinforce') return { loss: -advantage * logprob, slope: -advantage, clipped: false };
  if (objective !== 'cispo') {
    const found = clippedPolicyLoss(ratio, advantage, options);
    return ratio < largestRatio ? found : { ...found, slope: 0 };
  }
  const bounded = Math.min(Math.max(ratio, 1 - clipLow), 1 + clipHigh);
  return { loss: -bounded * advantage * logprob, slope: -bounded * advantage, clipped: bounded !== ratio };
}

function toReport(found: readonly TermSlope[]): SlopeReport {
  return {
    slopes: found.map(({ slope }) => slope),
    losses: found.map(({ loss }) => loss),
    clipped: Uint8Array.from(found, ({ clipped }) => (clipped ? 1 : 0)),
  };
}

/** Multiplies each term by its importance weight, and reports the share of terms whose weight was limited. */
function corrected(found: readonly TermSlope[], terms: SlopeTerms, correction: ImportanceCorrection): SlopeReport {
  const { weights, limited } = correctionWeights(terms, correction);
  const trained = [...terms.weights.keys()].filter((k) => terms.weights[k] !== 0);
  const share = trained.filter((k) => limited[k] === 1).length / Math.max(trained.length, 1);
  return {
    ...toReport(
      found.map(({ loss, slope, clipped }, k) => {
        const weight = weights[k] ?? 0;
        return { loss: weight * loss, slope: weight * slope, clipped };
      }),
    ),
    importance: weights,
    metrics: { [correction.mode === 'mask' ? 'maskedFraction' : 'truncatedFraction']: share },
  };
}
