/**
 * Trains an algorithm's own loss on any backbone in two passes. A forward pass gives the logprobs of the terms, and the
 * slope is computed from them here. Then a cross entropy with the coefficient c = -weight * slope on each token has the
 * gradient of the loss. The backbone must not make another step between the two passes.
 */

import { BackboneError, outsideOfSet, addUp } from '@agentjet/core';
import type {
  Backbone,
  LossOptions,
  SlopeLoss,
  SlopeReport,
  TermReport,
  TrainBatch,
  TrainStepMetrics,
  TreePack,
} from '@agentjet/core';

/** A batch whose loss the backbone computes itself. */
export type BuiltInBatch = TrainBatch & { readonly loss: LossOptions };

type SlopeBatch = TrainBatch & { readonly loss: SlopeLoss };

export type TwoPasses<Metrics extends TrainStepMetrics> = {
  /** Only a backbone that trains truncation has this method. */
  readonly keptTokens?: NonNullable<Backbone['keptTokens']>;
  /** Returns the training logprobs, shape [K] per pack, at each term's temperature or otherwise at `temperature`. */
  termLogprobs(packs: readonly TreePack[], temperature: number): Promise<readonly Float32Array[]>;
  trainStep(batch: BuiltInBatch): Promise<Metrics>;
};

/** On-policy logprobs that differ by less than this are taken to differ by rounding alone. */
const rounding = 1e-3;

function isSlope(batch: TrainBatch): batch is SlopeBatch {
  return batch.loss.kind === 'slope';
}

/** Makes one optimizer step: one pass for a built-in loss, two passes for a slope. */
export async function trainInPasses<Metrics extends TrainStepMetrics>(
  batch: TrainBatch,
  passes: TwoPasses<Metrics>,
): Promise<Metrics> {
  return isSlope(batch) ? await trainBySlope(batch, passes) : await passes.trainStep(batch as BuiltInBatch);
}

/**
 * Returns packs with the token sets that the sampler kept. Packs are returned unchanged if they have them already, or
 * if nothing was cut.
 */
export async function withKeptTokens(
  packs: readonly TreePack[],
  loss: TrainBatch['loss'],
  backbone: Pick<Backbone, 'keptTokens'>,
): Promise<readonly TreePack[]> {
  const truncation = loss.kind === 'sft' ? undefined : loss.truncation;
  if (truncation === undefined || packs.every(({ terms }) => terms.kept !== undefined)) return packs;
  if (backbone.keptTokens === undefined) throw noTruncation();
  const { temperature = 1 } = loss;
  const kept = await backbone.keptTokens(packs, { ...truncation, temperature });
  return packs.map((pack, index) => {
    const found = kept[index];
    return found === undefined ? pack : { ...pack, terms: { ...pack.terms, kept: found } };
  });
}

function noTruncation(): BackboneError {
  return new BackboneError(
    'unsupported_loss',
    'This backbone cannot train tokens that were sampled with top_p or top_k. Sample with top_p 1 and top_k -1.',
  );
}

/** Rejects with BackboneError `bad_slope` for a slope of another length or with a value that is not finite. */
async function trainBySlope<Metrics extends TrainStepMetrics>(
  given: SlopeBatch,
  passes: TwoPasses<Metrics>,
): Promise<Metrics> {
  const { loss } = given;
  const packs = await withKeptTokens(given.packs, loss, passes);
  const batch = { ...given, packs };
  const terms = joinTerms(packs);
  const found = concatenate(await passes.termLogprobs(packs, loss.temperature));
  const logprobs = found.map((logprob, k) => (terms.isLeftOut[k] === true ? (terms.behaviour[k] ?? 0) : logprob));
  const report = computeSlopes(batch, logprobs, terms);
  const step = { batch, logprobs, terms, ...report };
  const metrics = await passes.trainStep({ ...secondPass(step), reportTerms: true });
  return toSlopeMetrics(metrics, step);
}

/**
 * Without penalties, the second pass is a cross entropy. With penalties, it is a policy loss whose behaviour logprobs
 * are those of the first pass. Its ratio is then 1, so its gradient equals that of -advantage * logprob.
 */
function secondPass({ batch, logprobs, terms, slopes }: SlopeStep): BuiltInBatch {
  const { loss, packs } = batch;
  const { temperature, truncation, penalties } = loss;
  if (penalties === undefined)
    return {
      ...batch,
      packs: withTerms(packs, 'weights', (k) => -(terms.weights[k] ?? 0) * (slopes[k] ?? 0)),
      loss: { kind: 'sft', temperature },
    };
  const plain = { kind: 'policy', clipLow: 1, clipHigh: 1, dualClip: 0, temperature } as const;
  const scored = withTerms(packs, 'logprobs', (k) => logprobs[k] ?? 0);
  return {
    ...batch,
    packs: withTerms(scored, 'advantages', (k) => -(slopes[k] ?? 0)).map(withoutProximal),
    loss: { ...plain, ...penalties, ...(truncation && { truncation }) },
    isOnPolicy: true,
  };
}

function withoutProximal(pack: TreePack): TreePack {
  const { proximal: _proximal, ...terms } = pack.terms;
  return { ...pack, terms };
}

type JoinedTerms = ReturnType<typeof joinTerms>;

function joinTerms(packs: readonly TreePack[]) {
  const join = (name: 'weights' | 'advantages' | 'logprobs') => concatenate(packs.map(({ terms }) => terms[name]));
  const isLeftOut = packs.flatMap(({ terms: { pair, kept } }) =>
    Array.from(pair, (_, k) => kept?.set[k] === outsideOfSet),
  );
  return {
    isLeftOut,
    weights: join('weights').map((weight, k) => (isLeftOut[k] === true ? 0 : weight)),
    advantages: join('advantages'),
    behaviour: join('logprobs'),
    ...(packs.every(({ terms }) => terms.proximal !== undefined) && {
      proximal: concatenate(packs.map(({ terms }) => terms.proximal ?? new Float32Array())),
    }),
    sequence: Int32Array.from(packs.flatMap(({ terms }) => [...terms.sequence])),
  };
}

function concatenate(parts: readonly Float32Array[]): Float64Array {
  return Float64Array.from(parts.flatMap((part) => [...part]));
}

function computeSlopes({ loss, isOnPolicy }: SlopeBatch, logprobs: Float64Array, terms: JoinedTerms): Slopes {
  const isRounding = (k: number) => isOnPolicy === true && gapAt(logprobs, terms, k) < rounding;
  const steady = logprobs.map((logprob, k) => (isRounding(k) ? (terms.behaviour[k] ?? 0) : logprob));
  const { isLeftOut: _, ...shown } = terms;
  const proximal = terms.proximal?.map((logprob, k) => (isRounding(k) ? (steady[k] ?? 0) : logprob));
  const found = loss.slope({ ...shown, ...(proximal && { proximal }), logprobs: steady });
  const report = 'slopes' in found ? found : undefined;
  const slopes = Float64Array.from('slopes' in found ? found.slopes : found);
  if (slopes.length !== logprobs.length)
    throw badSlope(`it has ${slopes.length} values for ${logprobs.length} terms. Return one for each term.`);
  const at = slopes.findIndex((slope) => !Number.isFinite(slope));
  if (at < 0) return { slopes, report };
  const values = `logprob ${steady[at]}, behaviour logprob ${terms.behaviour[at]}, advantage ${terms.advantages[at]}`;
  throw badSlope(`term ${at} has ${slopes[at]} (${values}). Return finite numbers.`);
}

function badSlope(problem: string): BackboneError {
  return new BackboneError('bad_slope', `The algorithm's slope cannot be trained: ${problem}`);
}

function gapAt(logprobs: Float64Array, terms: JoinedTerms, k: number): number {
  return Math.abs((logprobs[k] ?? 0) - (terms.behaviour[k] ?? 0));
}

/** Replaces an array of the terms. `valueOf` takes the index of a term among the terms of all packs. */
function withTerms(
  packs: readonly TreePack[],
  name: 'weights' | 'advantages' | 'logprobs',
  valueOf: (k: number) => number,
): TreePack[] {
  let first = 0;
  return packs.map((pack) => {
    const start = first;
    first += pack.terms.weights.length;
    const values = pack.terms[name].map((_, index) => valueOf(start + index));
    return { ...pack, terms: { ...pack.terms, [name]: values } };
  });
}

type Slopes = { readonly slopes: Float64Array; readonly report: SlopeReport | undefined };

type SlopeStep = Slopes & {
  readonly batch: SlopeBatch;
  readonly logprobs: Float64Array;
  readonly terms: JoinedTerms;
};

/** Replaces the metrics of the second pass, which has other terms, by metrics of the original terms. */
function toSlopeMetrics<Metrics extends TrainStepMetrics>(metrics: Metrics, step: SlopeStep): Metrics {
  const { batch, logprobs, terms, slopes, report } = step;
  const { terms: reports, ...rest } = metrics;
  const trained = [...terms.weights.keys()].filter((k) => terms.weights[k] !== 0);
  const gaps = trained.map((k) => gapAt(logprobs, terms, k));
  const weight = addUp(trained, (k) => terms.weights[k] ?? 0);
  const hasPenalties = batch.loss.penalties !== undefined;
  const weighted = (valueOf: (k: number) => number): number =>
    addUp(trained, (k) => (terms.weights[k] ?? 0) * valueOf(k));
  const penalties = hasPenalties ? metrics.loss - weighted((k) => slopes[k] ?? 0) : 0;
  const own = {
    loss: penalties + weighted((k) => report?.losses[k] ?? (slopes[k] ?? 0) * (logprobs[k] ?? 0)),
    entropy: hasPenalties ? metrics.entropy : meanEntropy(reports, terms.weights, weight),
    kl: hasPenalties ? metrics.kl : 0,
    clipFraction: addUp(trained, (k) => report?.clipped[k] ?? 0) / Math.max(trained.length, 1),
    logprobGapMax: gaps.reduce((most, gap) => Math.max(most, gap), 0),
    logprobGapMean: addUp(gaps) / Math.max(gaps.length, 1),
    trainedTokens: trained.length,
    ...(batch.reportTerms === true && reports !== undefined && { terms: toOriginalTerms(reports, step) }),
  };
  const further: object = report?.metrics ?? {};
  return { ...rest, ...further, ...own } as Metrics;
}

/** Replaces the ratios and clips of the second pass by those of the original terms, and adds their importance weights. */
function toOriginalTerms(
  reports: readonly TermReport[],
  { logprobs, terms, report }: SlopeStep,
): readonly TermReport[] {
  let first = 0;
  return reports.map((each) => {
    const start = first;
    first += each.logprobs.length;
    const ratios = each.ratios.map((_, k) => Math.exp((logprobs[start + k] ?? 0) - (terms.behaviour[start + k] ?? 0)));
    const clipped = each.clipped.map((_, k) => report?.clipped[start + k] ?? 0);
    const { importance } = report ?? {};
    if (importance === undefined) return { ...each, ratios, clipped };
    return { ...each, ratios, clipped, importance: each.ratios.map((_, k) => importance[start + k] ?? 0) };
  });
}

function meanEntropy(
  reports: readonly TermReport[] | undefined,
  weights: Float64Array,
  totalWeight: number,
): number | null {
  const entropies = (reports ?? []).flatMap((report) => (report.entropies === null ? [] : [...report.entropies]));
  if (entropies.length !== weights.length) return null;
  return totalWeight === 0
    ? 0
    : addUp([...entropies.keys()], (k) => (weights[k] ?? 0) * (entropies[k] ?? 0)) / totalWeight;
}
