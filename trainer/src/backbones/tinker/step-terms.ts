/**
 * Expresses our losses as coefficients of a cross entropy. The loss of a step depends on the weights only through the
 * logprobs l of its terms, so its gradient is that of a cross entropy with the coefficient c = -weight * dLoss/dl on
 * each term. The report of the step is computed from the returned logprobs, with the formulas against which all
 * backbones are tested.
 */

import { BackboneError, type TermReport, type TrainStepMetrics, type TreePack } from '@agentjet/core';
import type { BuiltInBatch } from '../../slope/train-in-passes.js';
import { termLoss, type TermLoss } from '../../slope/term-loss.js';
import { toTerms } from './row-data.js';

/**
 * The logprobs of the targets of each row, shape [T - 1], under the weights that are trained and under the initial
 * weights.
 */
export type RowLogprobs = {
  readonly trained: readonly ArrayLike<number>[];
  readonly reference?: readonly ArrayLike<number>[] | undefined;
};

/** On-policy logprobs that differ by less than this are taken to differ by rounding alone. */
const rounding = 1e-3;

/**
 * Returns whether the coefficients depend on logprobs, which a forward pass has to compute. They do not in two cases:
 * the slope of a supervised loss is -1, and that of an on-policy loss without KL and importance weights is -advantage.
 */
export function needsLogprobs({ loss, isOnPolicy }: BuiltInBatch): boolean {
  return loss.kind === 'policy' && !(isOnPolicy === true && loss.klCoef === 0 && loss.correction === undefined);
}

/** Computes c of each term, shape [K] per pack. Logprobs are optional for a batch that does not need them. */
export function coefficientsOf(batch: BuiltInBatch, logprobs: RowLogprobs | undefined): Float64Array[] {
  return batch.packs.map((pack, index) => {
    const slopes = lossesOf(batch, pack, rowOf(pack, index, logprobs)).map(({ slope }) => slope);
    return Float64Array.from(slopes, (slope, k) => -(pack.terms.weights[k] ?? 0) * slope);
  });
}

type TermLogprobs = { readonly trained: Float64Array | undefined; readonly reference: Float64Array | undefined };

function rowOf(pack: TreePack, index: number, logprobs: RowLogprobs | undefined): TermLogprobs {
  const [trained, reference] = [logprobs?.trained[index], logprobs?.reference?.[index]];
  return { trained: trained && toTerms(pack, trained), reference: reference && toTerms(pack, reference) };
}

/**
 * With a correction, whose upper limit is C, the ratio is taken against the logprobs of the weights that the batch began
 * with (decoupled PPO, Hilton et al. 2022). The policy's part is weighted by min(exp(those - sampler), C), held
 * constant (truncated importance sampling, Yao et al. 2025). That has the same effect as multiplying the advantage by
 * that weight.
 */
function lossesOf(batch: BuiltInBatch, { terms }: TreePack, { trained, reference }: TermLogprobs): TermLoss[] {
  const isFirstOrder = !needsLogprobs(batch);
  const { correction } = batch.loss.kind === 'policy' ? batch.loss : {};
  return Array.from(terms.logprobs, (behaviour, k) => {
    const found = trained?.[k] ?? behaviour;
    const advantage = terms.advantages[k] ?? 0;
    if (correction !== undefined) {
      const proximal = terms.proximal?.[k] ?? found;
      const weight = Math.min(Math.exp(proximal - behaviour), correction.upper);
      const term = { advantage: weight * advantage, behaviour: proximal, reference: reference?.[k] ?? found };
      return termLoss(found, term, batch.loss);
    }
    const isSame = batch.isOnPolicy === true && (isFirstOrder || Math.abs(found - behaviour) < rounding);
    const term = { advantage, behaviour, reference: reference?.[k] ?? found };
    return termLoss(isSame && batch.loss.kind === 'policy' ? behaviour : found, term, batch.loss);
  });
}

export type StepFacts = Pick<TrainStepMetrics, 'gradNorm' | 'learningRate' | 'policyVersion'>;

/** Computes the step's report. It has no entropy, because the server does not show distributions. */
export function describeStep(batch: BuiltInBatch, logprobs: RowLogprobs, facts: StepFacts): TrainStepMetrics {
  const totals = { loss: 0, kl: 0, clipped: 0, gapSum: 0, gapMax: 0, terms: 0 };
  const reports = batch.packs.map((pack, index) => {
    const row = rowOf(pack, index, logprobs);
    const losses = lossesOf(batch, pack, row);
    for (const [k, { loss, kl, clipped }] of losses.entries()) {
      const [weight, gap] = [
        pack.terms.weights[k] ?? 0,
        Math.abs((row.trained?.[k] ?? 0) - (pack.terms.logprobs[k] ?? 0)),
      ];
      totals.loss += weight * loss;
      totals.kl += weight * kl;
      totals.clipped += clipped ? 1 : 0;
      totals.gapSum += gap;
      totals.gapMax = Math.max(totals.gapMax, gap);
      totals.terms += 1;
    }
    return reportOf(pack, losses, row);
  });
  return {
    loss: totals.loss,
    entropy: null,
    kl: totals.kl,
    clipFraction: totals.clipped / Math.max(totals.terms, 1),
    logprobGapMax: totals.gapMax,
    logprobGapMean: totals.gapSum / Math.max(totals.terms, 1),
    trainedTokens: totals.terms,
    rowTokens: batch.packs.reduce((sum, { rowTokens }) => sum + rowTokens, 0),
    treeTokens: batch.packs.reduce((sum, { ids }) => sum + ids.length, 0),
    ...facts,
    ...(batch.reportTerms && { terms: reports }),
  };
}

function reportOf({ terms }: TreePack, losses: readonly TermLoss[], { trained }: TermLogprobs): TermReport {
  return {
    logprobs: Float32Array.from(trained ?? []),
    entropies: null,
    ratios: Float32Array.from(trained ?? [], (logprob, k) => Math.exp(logprob - (terms.logprobs[k] ?? 0))),
    clipped: Uint8Array.from(losses, ({ clipped }) => (clipped ? 1 : 0)),
  };
}

/** Refuses losses that these servers cannot train. Throws BackboneError `bad_request`. */
export function checkBuiltInLoss({ loss, packs }: BuiltInBatch): void {
  if (loss.kind === 'policy' && loss.entropyCoef !== 0)
    throw refusal('an entropy bonus needs whole distributions. Set trainer_common.entropy_coeff to 0');
  const given = packs.flatMap(({ terms }) => [...new Set(terms.temperatures ?? [loss.temperature ?? 1])]);
  const other = given.find((temperature) => temperature !== 0 && temperature !== 1);
  if (other !== undefined)
    throw refusal(`tokens sampled at temperature ${other} have other logprobs there. Set rollout.temperature to 1`);
}

function refusal(problem: string): BackboneError {
  return new BackboneError('bad_request', `The tinker backbone cannot train this loss: ${problem}.`);
}
