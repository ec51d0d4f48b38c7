import {
  createRandom,
  type BackboneCapabilities,
  type LossOptions,
  type Sample,
  type SlopeLoss,
  type TrainBatch,
  type TreePack,
} from '@agentjet/core';
import { tinyModel } from '../../backbones/embedded/training/testing-model.js';
import type { OnnxModel } from '../../backbones/embedded/training/onnx-model.js';
import { packFor } from '../../packing/pack-for.js';
import { createRandomSamples } from '../random-samples.js';
import { embeddedCapabilities } from '../../backbones/capabilities.js';
import { openSmallModel, stepOverGradient, type OpenSubject } from './loss-subjects.js';
import { toTrainedLoss } from '../../losses/to-trained-loss.js';
import { referenceSlopes, type FixedTerms, type LossCase } from './loss-case.js';

const plain = { kind: 'policy', klCoef: 0, klEstimator: 'k3', entropyCoef: 0 } as const;

/**
 * Compares the gradient that the embedded backbone trains with the gradient of the reference, on a small model whose
 * samples share tokens. Returns the norm of the difference over the norm of the reference's gradient.
 */
export async function measureLossCase(lossCase: LossCase): Promise<number> {
  const temperature = 0.8;
  const [exact, trained] = [tinyModel({ precision: 'float64' }), tinyModel()];
  try {
    const packs = await createPacks(exact, { temperature, takes: 'packs' });
    const wanted = await referenceGradient(exact, packs, lossCase, temperature);
    await trained.trainStep({ packs, loss: lossOf(lossCase, temperature, embeddedCapabilities) });
    return distance(trained.gradients, wanted);
  } finally {
    await Promise.all([exact.close(), trained.close()]);
  }
}

/**
 * Does the same for another backbone, whose gradient is read from the weights before and after a step. The loss is
 * trained as a run trains it: by the backbone itself if it has the objective and the correction.
 */
export async function measureLossOn(lossCase: LossCase, subject: OpenSubject): Promise<number> {
  const { backbone, temperature } = subject;
  const exact = openSmallModel('float64');
  try {
    const packs = await createPacks(exact, { temperature, takes: backbone.capabilities.takes });
    const before = Float64Array.from(exact.parameters);
    const wanted = await referenceGradient(exact, packs, lossCase, temperature);
    const loss = lossOf(lossCase, temperature, backbone.capabilities);
    return distance(await readGradient(subject, before, { packs, loss }), wanted);
  } finally {
    await exact.close();
  }
}

/** Trains a step from the weights `before`, and reads its gradient from the weights afterwards. */
export async function readGradient(
  { backbone, reset, readWeights }: Pick<OpenSubject, 'backbone' | 'reset' | 'readWeights'>,
  before: Float64Array,
  batch: TrainBatch,
): Promise<Float64Array> {
  await reset();
  await backbone.trainStep(batch);
  const after = await readWeights();
  return before.map((weight, index) => (weight - (after[index] ?? Number.NaN)) / stepOverGradient);
}

export function lossOf(
  { loss }: Pick<LossCase, 'loss'>,
  temperature: number,
  capabilities: BackboneCapabilities,
): LossOptions | SlopeLoss {
  return toTrainedLoss({ ...plain, temperature, ...loss }, capabilities);
}

/** The sampler's logprobs, and those of the weights that the batch began with, are near the present ones. */
async function createPacks(
  model: OnnxModel,
  { temperature, takes }: { readonly temperature: number } & Pick<BackboneCapabilities, 'takes'>,
): Promise<readonly TreePack[]> {
  const random = createRandom(7);
  const noise = (width: number): number => width * (2 * random.next() - 1);
  const samples: Sample[] = createRandomSamples(random, { numRows: 8, maxLength: 8, vocabSize: 11, numEpisodes: 4 });
  const options = { maxPackTokens: 30, weighting: 'row', normalization: 'sequence' } as const;
  const { packs } = packFor({ capabilities: { takes } }, samples, options);
  const found = await model.termLogprobs(packs, temperature);
  return packs.map((pack, index) => {
    const proximal = Float32Array.from(found[index] ?? [], (logprob) => logprob + noise(0.3));
    return { ...pack, terms: { ...pack.terms, proximal, logprobs: proximal.map((value) => value + noise(0.35)) } };
  });
}

/** Trains, in double precision, a cross entropy whose coefficients are those of the reference's slope. */
export async function referenceGradient(
  model: OnnxModel,
  packs: readonly TreePack[],
  lossCase: Pick<LossCase, 'reference'>,
  temperature: number,
): Promise<Float64Array> {
  const logprobs = (await model.termLogprobs(packs, temperature)).flatMap((values) => [...values]);
  const join = (name: 'weights' | 'advantages' | 'logprobs' | 'proximal'): Float64Array =>
    Float64Array.from(packs.flatMap(({ terms }) => [...(terms[name] ?? [])]));
  const fixed: FixedTerms = {
    logprobs: Float64Array.from(logprobs),
    behaviour: join('logprobs'),
    proximal: join('proximal'),
    advantages: join('advantages'),
    weights: join('weights'),
    sequence: Int32Array.from(packs.flatMap(({ terms }) => [...terms.sequence])),
  };
  const slopes = referenceSlopes(lossCase, fixed);
  let next = 0;
  const weighted = packs.map((pack) => {
    const weights = pack.terms.weights.map((weight) => -weight * (slopes[next++] ?? 0));
    return { ...pack, terms: { ...pack.terms, weights } };
  });
  await model.trainStep({ packs: weighted, loss: { kind: 'sft', temperature } });
  return Float64Array.from(model.gradients);
}

/** Returns the norm of the difference over the norm of `wanted`. */
export function distance(found: ArrayLike<number>, wanted: Float64Array): number {
  const norm = (values: Float64Array): number => Math.sqrt(values.reduce((sum, value) => sum + value * value, 0));
  return norm(wanted.map((value, index) => value - (found[index] ?? Number.NaN))) / norm(wanted);
}
