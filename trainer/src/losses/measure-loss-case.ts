import { createRandom, type LossOptions, type Sample, type SlopeLoss, type TreePack } from '@agentjet/core';
import { tinyModel } from '../backbones/embedded/training/testing-model.js';
import type { OnnxModel } from '../backbones/embedded/training/onnx-model.js';
import { packTrees } from '../packing/pack-trees.js';
import { createRandomSamples } from '../testing/random-samples.js';
import { toTrainedLoss } from './to-trained-loss.js';
import { referenceSlopes, type FixedTerms, type LossCase } from './loss-case.js';

const temperature = 0.8;
const plain = { kind: 'policy', klCoef: 0, klEstimator: 'k3', entropyCoef: 0, temperature } as const;

/**
 * Compares the gradient that the embedded backbone trains with the gradient of the reference, on a small model whose
 * samples share tokens. Returns the norm of the difference over the norm of the reference's gradient.
 */
export async function measureLossCase(lossCase: LossCase): Promise<number> {
  const [exact, trained] = [tinyModel({ precision: 'float64' }), tinyModel()];
  try {
    const packs = await createPacks(exact);
    const wanted = await referenceGradient(exact, packs, lossCase);
    await trained.trainStep({ packs, loss: lossOf(lossCase) });
    return distance(trained.gradients, wanted);
  } finally {
    await Promise.all([exact.close(), trained.close()]);
  }
}

function lossOf({ loss }: LossCase): LossOptions | SlopeLoss {
  return toTrainedLoss({ ...plain, ...loss }, {});
}

/** The sampler's logprobs, and those of the weights that the batch began with, are near the present ones. */
async function createPacks(model: OnnxModel): Promise<readonly TreePack[]> {
  const random = createRandom(7);
  const noise = (width: number): number => width * (2 * random.next() - 1);
  const samples: Sample[] = createRandomSamples(random, { numRows: 8, maxLength: 8, vocabSize: 11, numEpisodes: 4 });
  const { packs } = packTrees(samples, { maxPackTokens: 30, weighting: 'row', normalization: 'sequence' });
  const found = await model.termLogprobs(packs, temperature);
  return packs.map((pack, index) => {
    const proximal = Float32Array.from(found[index] ?? [], (logprob) => logprob + noise(0.3));
    return { ...pack, terms: { ...pack.terms, proximal, logprobs: proximal.map((value) => value + noise(0.35)) } };
  });
}

/** Trains, in double precision, a cross entropy whose coefficients are those of the reference's slope. */
async function referenceGradient(
  model: OnnxModel,
  packs: readonly TreePack[],
  lossCase: LossCase,
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

function distance(found: ArrayLike<number>, wanted: Float64Array): number {
  const norm = (values: Float64Array): number => Math.sqrt(values.reduce((sum, value) => sum + value * value, 0));
  return norm(wanted.map((value, index) => value - (found[index] ?? Number.NaN))) / norm(wanted);
}
