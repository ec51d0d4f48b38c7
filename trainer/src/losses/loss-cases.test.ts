import { createRandom, type LossOptions, type SlopeLoss, type SlopeTerms } from '@agentjet/core';
import { describe, expect, it } from 'vitest';
import { policyLoss, tinyModel } from '../backbones/embedded/training/testing-model.js';
import { packTrees } from '../packing/pack-trees.js';
import { createRandomSamples } from '../testing/random-samples.js';
import { createPolicySlope } from './policy-slope.js';
import { referenceSlopes, type FixedTerms } from '../testing/losses/loss-case.js';
import { lossSubjects } from '../testing/losses/loss-subjects.js';
import { measureDistillation } from '../testing/losses/measure-distillation.js';
import { measureLossCase, measureLossOn } from '../testing/losses/measure-loss-case.js';
import { readLossCases } from '../testing/losses/read-loss-cases.js';

const cases = await readLossCases();

function randomTerms(seed: number, numTerms = 24): FixedTerms {
  const random = createRandom(seed);
  const fill = (value: (k: number) => number) => Float64Array.from({ length: numTerms }, (_, k) => value(k));
  const logprobs = fill(() => -3 * random.next());
  const proximal = logprobs.map((value) => value + 0.6 * (random.next() - 0.5));
  return {
    logprobs,
    proximal,
    behaviour: proximal.map((value) => value + 0.8 * (random.next() - 0.5)),
    advantages: fill(() => 2 * random.next() - 1),
    weights: fill((k) => (1 + (k % 3)) / numTerms),
    sequence: Int32Array.from({ length: numTerms }, (_, k) => k >> 2),
  };
}

describe.each(cases.map((lossCase) => [lossCase.name, lossCase] as const))('the loss %s', (_, lossCase) => {
  it('has the slope and the value of its source', () => {
    for (const seed of [1, 2, 3]) {
      const terms = randomTerms(seed);
      const found = createPolicySlope(lossCase.loss)(terms);
      if (!('slopes' in found)) throw new TypeError('A policy slope reports its losses.');
      const wanted = referenceSlopes(lossCase, terms);
      terms.logprobs.forEach((_logprob, k) => {
        expect(found.slopes[k]).toBeCloseTo(wanted[k] ?? Number.NaN, 6);
        expect(found.losses[k]).toBeCloseTo(lossCase.reference(k, terms.logprobs, terms), 12);
      });
    }
  });

  it('gives the embedded backbone the gradient of its source', async () => {
    expect(await measureLossCase(lossCase)).toBeLessThan(1e-4);
  });
});

describe.each(lossSubjects)('the backbone $name', ({ name, missing, open }) => {
  const some = cases.filter(({ name: loss }) => name === 'torch' || loss === 'gspo' || loss === 'tis');

  it.skipIf(missing !== undefined)('trains losses with the gradient of their sources', async () => {
    const subject = await open();
    try {
      for (const lossCase of some) expect(await measureLossOn(lossCase, subject), lossCase.name).toBeLessThan(1e-4);
      expect(await measureDistillation(subject), 'distill').toBeLessThan(1e-4);
    } finally {
      await subject.close();
    }
  });
});

it('a teacher gives the embedded backbone the gradient of the reverse KL', async () => {
  expect(await measureDistillation()).toBeLessThan(1e-4);
});

it('every case has another name, and names its source', () => {
  expect(new Set(cases.map(({ name }) => name)).size).toBe(cases.length);
  expect(cases.length).toBeGreaterThanOrEqual(9);
  for (const { source } of cases) expect(source).toMatch(/\d{4}, "/);
});

it('adds KL and entropy to a slope as a policy loss has them, and reports the same metrics', async () => {
  const loss = { ...policyLoss, clipLow: 0.1, clipHigh: 0.1 };
  const { klCoef, klEstimator, entropyCoef, temperature } = loss;
  const slope = createPolicySlope(loss);
  const passes: SlopeLoss = { kind: 'slope', slope, temperature, penalties: { klCoef, klEstimator, entropyCoef } };
  const samples = createRandomSamples(createRandom(3), { numRows: 8, maxLength: 8, vocabSize: 11, numEpisodes: 4 });
  const { packs } = packTrees(samples, { maxPackTokens: 30 });
  const train = async (trained: LossOptions | SlopeLoss) => {
    const model = tinyModel();
    const { terms = [], ...metrics } = await model.trainStep({ packs, loss: trained, reportTerms: true });
    await model.close();
    const numbers = Object.entries(metrics).map(([name, value]) => [name, Number(value)] as const);
    return { numbers, ratios: terms.flatMap(({ ratios }) => [...ratios]), clipped: terms.map((each) => each.clipped) };
  };
  const [whole, split] = [await train(loss), await train(passes)];
  expect(split.numbers.map(([name]) => name)).toEqual(whole.numbers.map(([name]) => name));
  split.numbers.forEach(([name, value], at) => expect([name, value]).toEqual([name, closeTo(whole.numbers[at]?.[1])]));
  split.ratios.forEach((ratio, k) => expect(ratio).toBeCloseTo(whole.ratios[k] ?? Number.NaN, 4));
  expect(split.clipped).toEqual(whole.clipped);
});

const closeTo = (value = Number.NaN): unknown => expect.closeTo(value, 4);

function withoutProximal(given: FixedTerms): SlopeTerms {
  const { proximal: _, ...terms } = given;
  return terms;
}

it.each(['ppo', 'gspo'] as const)('%s trains no token whose ratio no float holds', (objective) => {
  const lost = { ...withoutProximal(randomTerms(5)), advantages: new Float64Array(24).fill(-1) };
  const behaviour = lost.logprobs.map((logprob, k) => (k < 4 ? logprob - 61 : logprob));
  const found = createPolicySlope({ objective, clipLow: 9, clipHigh: 9, dualClip: 0 })({ ...lost, behaviour });
  if (!('slopes' in found)) throw new TypeError('A policy slope reports its losses.');
  expect(Array.from(found.slopes).map((slope) => Math.abs(slope))).toEqual([
    ...Array<number>(4).fill(0),
    ...Array<number>(20).fill(1),
  ]);
});

it('takes terms that no row trains out of the sums of a row', () => {
  const terms = withoutProximal(randomTerms(4));
  const without = { ...terms, weights: terms.weights.with(0, 0) };
  const of = (given: SlopeTerms) => {
    const found = createPolicySlope({ objective: 'gspo', clipLow: 9, clipHigh: 9, dualClip: 0 })(given);
    return 'slopes' in found ? (found.slopes[1] ?? 0) / (given.advantages[1] ?? 1) : 0;
  };
  const [first, ...others] = [0, 1, 2, 3].map((k) => (terms.logprobs[k] ?? 0) - (terms.behaviour[k] ?? 0));
  const meanOf = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length;
  expect(of(terms)).toBeCloseTo(-Math.exp(meanOf([first ?? 0, ...others])), 12);
  expect(of(without)).toBeCloseTo(-Math.exp(meanOf(others)), 12);
});
