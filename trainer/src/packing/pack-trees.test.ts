import { createRandom, type LossOptions, type Sample, type TreePack } from '@agentjet/core';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createRandomSamples } from '../testing/random-samples.js';
import { createTinyWeights, pairLogprobs, tinyGradient } from '../testing/tiny-model.js';
import type { PackOptions } from './check-options.js';
import { packTrees } from './pack-trees.js';
import { padPack } from '../testing/pad-pack.js';
import type { Normalization } from './supervision.js';
import { findParents, unpackRow } from './unpack-rows.js';
import { plainLoss } from '../testing/plain-loss.js';
import { smallPack } from '../testing/small-pack.js';

const shape = { vocabSize: 4, width: 5 };
const weights = createTinyWeights(shape, 1);
const reference = createTinyWeights(shape, 2);
const policy: LossOptions = { ...plainLoss, clipHigh: 0.28, klCoef: 0.1, entropyCoef: 0.01, temperature: 0.9 };

const randomSamples = fc
  .record({
    seed: fc.integer(),
    numRows: fc.integer({ min: 1, max: 12 }),
    maxLength: fc.integer({ min: 1, max: 8 }),
    numEpisodes: fc.integer({ min: 1, max: 4 }),
  })
  .map(({ seed, ...options }) => createRandomSamples(createRandom(seed), { ...options, vocabSize: shape.vocabSize }));
const packOptions: fc.Arbitrary<PackOptions> = fc.record({
  maxPackTokens: fc.integer({ min: 1, max: 80 }),
  weighting: fc.constantFrom('episode', 'row'),
  normalization: fc.constantFrom<Normalization[]>('token', 'sequence', { constantLength: 7 }),
  sharing: fc.constantFrom('tree', 'prompt', 'linear', 'none'),
});

function sample(ids: number[], lossMask: number[], changes: Partial<Sample> = {}): Sample {
  const trained = (value: number) => Float32Array.from(lossMask, (mask) => mask * value);
  return {
    episodeId: 'a',
    agentName: 'agent',
    targetTag: 'agent',
    ids: Int32Array.from(ids),
    lossMask: Uint8Array.from(lossMask),
    logprobs: trained(-0.5),
    advantages: trained(1),
    policyVersions: Int32Array.from(lossMask, (mask) => mask - 1),
    ...changes,
  };
}

type Gradient = { loss: number; gradient: Float64Array };

function sumGradients(packs: readonly TreePack[], loss: LossOptions): Gradient {
  const sum = { loss: 0, gradient: new Float64Array(weights.length) };
  for (const pack of packs) {
    const part = tinyGradient(weights, shape, pack, loss, reference);
    sum.loss += part.loss;
    sum.gradient.forEach((value, index) => (sum.gradient[index] = value + (part.gradient[index] ?? 0)));
  }
  return sum;
}

/** Computes each row separately, without the packing code. */
function rowGradient(samples: readonly Sample[], options: PackOptions, loss: LossOptions): Gradient {
  const seen = new Set<string>();
  const positions = samples.map((row) =>
    [...row.ids.keys()].filter((t) => {
      const key = options.weighting === 'row' ? undefined : `${row.episodeId}:${row.ids.slice(0, t + 1).join()}`;
      if (row.lossMask[t] !== 1 || (key !== undefined && seen.has(key))) return false;
      if (key !== undefined) seen.add(key);
      return true;
    }),
  );
  const sequences = samples.map((row, index) => (options.weighting === 'row' ? String(index) : row.episodeId));
  const total = positions.flat().length;
  const lengthOf = (name: string) =>
    positions.reduce((sum, list, row) => sum + (sequences[row] === name ? list.length : 0), 0);
  const numSequences = new Set(sequences.filter((name) => lengthOf(name) > 0)).size;
  const packs = samples.map((row, index) => {
    const list = positions[index] ?? [];
    const { normalization } = options;
    const length = typeof normalization === 'object' ? normalization.constantLength : lengthOf(sequences[index] ?? '');
    const weight = normalization === 'token' ? 1 / total : 1 / (numSequences * length);
    const pick = (array: ArrayLike<number>) => Float32Array.from(list, (t) => array[t] ?? Number.NaN);
    return {
      ids: row.ids,
      positions: Int32Array.from(row.ids.keys()),
      ends: new Int32Array(row.ids.length).fill(row.ids.length),
      predictors: Int32Array.from(list, (t) => t - 1),
      targets: Int32Array.from(list, (t) => row.ids[t] ?? -1),
      rowTokens: row.ids.length,
      terms: {
        pair: Int32Array.from(list.keys()),
        sequence: new Int32Array(list.length),
        weights: new Float32Array(list.length).fill(weight),
        advantages: pick(row.advantages),
        logprobs: pick(row.logprobs),
      },
    };
  });
  return sumGradients(packs, loss);
}

function relativeDistance(actual: Float64Array, expected: Float64Array): number {
  const norm = (vector: Float64Array) => Math.sqrt(vector.reduce((sum, value) => sum + value * value, 0));
  return norm(actual.map((value, index) => value - (expected[index] ?? Number.NaN))) / Math.max(norm(expected), 1e-12);
}

describe('packTrees', () => {
  it('lays out the worked example of TreePack', () => {
    const rows = [
      sample([5, 6, 7], [0, 0, 1], { logprobs: Float32Array.of(0, 0, -0.2), advantages: Float32Array.of(0, 0, 1) }),
      sample([5, 6, 8], [0, 0, 1], {
        episodeId: 'b',
        logprobs: Float32Array.of(0, 0, -1.6),
        advantages: Float32Array.of(0, 0, -1),
      }),
    ];
    const { packs, report } = packTrees(rows, { maxPackTokens: 100 });
    expect(packs).toEqual([smallPack([-0.2, -1.6])]);
    expect(report).toMatchObject({
      rows: 2,
      rowTokens: 6,
      treeTokens: 4,
      ratio: 1.5,
      packs: 1,
      splits: 0,
      trainedTokens: 2,
    });
  });

  it('gives the loss and gradient of the rows run one by one', () => {
    fc.assert(
      fc.property(
        randomSamples,
        packOptions,
        fc.constantFrom<LossOptions>(policy, { kind: 'sft' }),
        (samples, options, loss) => {
          const tree = sumGradients(packTrees(samples, options).packs, loss);
          const rows = rowGradient(samples, options, loss);
          expect(tree.loss).toBeCloseTo(rows.loss, 9);
          expect(relativeDistance(tree.gradient, rows.gradient)).toBeLessThan(1e-9);
        },
      ),
      { numRuns: 300 },
    );
  });

  it('gives back every row it was given', () => {
    fc.assert(
      fc.property(randomSamples, packOptions, (samples, options) => {
        const { packs, places } = packTrees(samples, { ...options, weighting: 'row' });
        const unpacked = places.map(
          (place) => place && packs[place.pack] && unpackRow(packs[place.pack] as TreePack, place),
        );
        expect(unpacked).toEqual(samples.map(({ ids, lossMask }) => (lossMask.includes(1) ? ids : undefined)));
      }),
    );
  });

  it('lets a token see its ancestors and itself, nothing else', () => {
    fc.assert(
      fc.property(randomSamples, packOptions, (samples, options) => {
        for (const pack of packTrees(samples, options).packs) {
          const parents = findParents(pack);
          for (let query = 0; query < pack.ids.length; query++) {
            const ancestors = new Set<number>();
            for (let index = query; index !== -1; index = parents[index] ?? -1) ancestors.add(index);
            const visible = [...pack.ids.keys()].filter((key) => key <= query && query < (pack.ends[key] ?? 0));
            expect(new Set(visible)).toEqual(ancestors);
            expect(pack.positions[query]).toBe(ancestors.size - 1);
          }
        }
      }),
    );
  });

  it('lists each (predictor, target) pair once and weighs all terms to one', () => {
    fc.assert(
      fc.property(randomSamples, packOptions, (samples, options) => {
        const { packs, report } = packTrees(samples, options);
        for (const pack of packs)
          expect(new Set(Array.from(pack.predictors, (p, m) => `${p}:${pack.targets[m]}`)).size).toBe(
            pack.predictors.length,
          );
        const total = packs.reduce((sum, { terms }) => sum + terms.weights.reduce((a, b) => a + b, 0), 0);
        if (typeof options.normalization !== 'object') expect(total).toBeCloseTo(report.trainedTokens === 0 ? 0 : 1, 5);
        expect(packs.reduce((sum, { terms }) => sum + terms.pair.length, 0)).toBe(report.trainedTokens);
      }),
    );
  });

  it('keeps packs within the budget unless one row alone is longer', () => {
    fc.assert(
      fc.property(randomSamples, packOptions, (samples, options) => {
        const { packs, places, report } = packTrees(samples, options);
        const oversized = packs.filter((pack) => pack.ids.length > options.maxPackTokens);
        for (const pack of oversized) {
          const rows = samples.filter((_, row) => places[row]?.pack === packs.indexOf(pack));
          expect(Math.max(...rows.map(({ ids }) => ids.length))).toBe(pack.ids.length);
        }
        expect(oversized.length === 0).toBe(report.oversizedRows === 0);
      }),
    );
  });

  it('changes nothing when rows are permuted or an untrained row is added', () => {
    fc.assert(
      fc.property(randomSamples, fc.integer(), (samples, seed) => {
        const random = createRandom(seed);
        const shuffled = samples
          .map((row) => ({ row, key: random.next() }))
          .sort((a, b) => a.key - b.key)
          .map(({ row }) => row);
        const options: PackOptions = { maxPackTokens: 40, weighting: 'row' };
        const plain = sumGradients(packTrees(samples, options).packs, policy);
        const untrained = sample([3, 2, 1], [0, 0, 0], { episodeId: 'other' });
        expect(
          relativeDistance(
            sumGradients(packTrees([...shuffled, untrained], options).packs, policy).gradient,
            plain.gradient,
          ),
        ).toBeLessThan(1e-9);
      }),
    );
  });

  it('adds to the sum over terms exactly what an unrelated tree adds by itself', () => {
    fc.assert(
      fc.property(randomSamples, randomSamples, packOptions, (samples, others, options) => {
        const unrelated = others.map((row) => ({ ...row, episodeId: `other-${row.episodeId}` }));
        const sumOverTerms = (rows: readonly Sample[]) => {
          const { packs, report } = packTrees(rows, { ...options, normalization: 'token' });
          return sumGradients(packs, policy).gradient.map((value) => value * report.trainedTokens);
        };
        const apart = sumOverTerms(unrelated);
        const expected = sumOverTerms(samples).map((value, index) => value + (apart[index] ?? 0));
        expect(relativeDistance(sumOverTerms([...samples, ...unrelated]), expected)).toBeLessThan(1e-6); // weights are float32
      }),
    );
  });

  it('computes shared tokens once when an unrelated tree is next to them', () => {
    const shared = [sample([1, 2, 3, 0], [0, 0, 1, 1]), sample([1, 2, 3, 1], [0, 0, 0, 1])];
    const other = sample([2, 2, 2, 2], [0, 1, 1, 1], { episodeId: 'b' });
    const logprobsOf = (samples: Sample[]) => {
      const { packs } = packTrees(samples, { maxPackTokens: 100 });
      return packs.flatMap((pack) => [...pairLogprobs(weights, shape, pack)]);
    };
    expect(packTrees([...shared, other], { maxPackTokens: 100 }).report).toMatchObject({
      rowTokens: 12,
      treeTokens: 9,
      packs: 1,
      trees: 2,
    });
    const together = logprobsOf([...shared, other]);
    for (const logprob of logprobsOf(shared))
      expect(together.some((candidate) => Math.abs(candidate - logprob) < 1e-12)).toBe(true);
  });

  it('ignores padding', () => {
    fc.assert(
      fc.property(randomSamples, fc.integer({ min: 0, max: 20 }), (samples, extra) => {
        const { packs } = packTrees(samples, { maxPackTokens: 50 });
        const padded = packs.map((pack) => padPack(pack, pack.ids.length + extra));
        expect(sumGradients(padded, policy)).toEqual(sumGradients(packs, policy));
        for (const pack of padded)
          expect(pack.ends.slice(pack.ends.length - extra)).toEqual(
            Int32Array.from({ length: extra }, (_, i) => pack.ends.length - extra + i + 1),
          );
      }),
    );
  });

  it('splits at the highest branch and trains the duplicated path once', () => {
    // The root path is 0 1 (1 is generated); two branches follow, and each branches again.
    const rows = [
      sample([0, 1, 2, 2, 0], [0, 1, 0, 0, 1]),
      sample([0, 1, 2, 2, 1], [0, 1, 0, 0, 1]),
      sample([0, 1, 3, 3, 0], [0, 1, 0, 0, 1]),
      sample([0, 1, 3, 3, 1], [0, 1, 0, 0, 1]),
    ];
    const { packs, report } = packTrees(rows, { maxPackTokens: 6 });
    expect(packs.map((pack) => [...pack.ids])).toEqual([
      [0, 1, 2, 2, 0, 1],
      [0, 1, 3, 3, 0, 1],
    ]);
    expect(report).toMatchObject({ splits: 1, duplicatedTokens: 2, trainedTokens: 5, repeatedTokens: 3 });
  });

  it('supervises a generated token of several rows once per episode, and once per row under `row`', () => {
    const rows = [
      sample([1, 2, 3], [0, 1, 1]),
      sample([1, 2, 0], [0, 1, 1]),
      sample([1, 2, 0], [0, 1, 1], { episodeId: 'b' }),
    ];
    expect(packTrees(rows, { maxPackTokens: 100 }).report).toMatchObject({ trainedTokens: 5, repeatedTokens: 1 });
    expect(packTrees(rows, { maxPackTokens: 100, weighting: 'row' }).report).toMatchObject({
      trainedTokens: 6,
      repeatedTokens: 0,
    });
  });

  it('keeps both of two calls that sampled the same ids in the same context', () => {
    const first = sample([1, 2, 3], [0, 1, 1], { turnIndices: Int32Array.of(-1, 0, 0) });
    const retry = sample([1, 2, 3], [0, 1, 1], { turnIndices: Int32Array.of(-1, 1, 1) });
    const { packs, report } = packTrees([first, retry, first], { maxPackTokens: 100 });
    expect(report).toMatchObject({ treeTokens: 3, trainedTokens: 4, repeatedTokens: 2 });
    expect(packs[0]?.terms.pair).toEqual(Int32Array.of(0, 1, 0, 1));
  });

  it('does not tie long rows together for the sake of one common token', () => {
    const row = (id: number) => sample([0, ...Array<number>(50).fill(id)], [0, ...Array<number>(50).fill(1)]);
    expect(packTrees([row(1), row(2)], { maxPackTokens: 1000 }).report).toMatchObject({
      trees: 2,
      splits: 1,
      duplicatedTokens: 1,
    });
    const header = (id: number) => sample([0, 0, ...Array<number>(50).fill(id)], [0, 0, ...Array<number>(50).fill(1)]);
    expect(packTrees([header(1), header(2)], { maxPackTokens: 1000 }).report).toMatchObject({ trees: 1, splits: 0 });
  });

  it.each([
    ['a trained first token', sample([1, 2], [1, 1]), /lossMask\[0\] is 1/],
    [
      'arrays of different lengths',
      sample([1, 2], [0, 1], { logprobs: Float32Array.of(0) }),
      /logprobs has 1 entries for 2 ids/,
    ],
    [
      'an advantage that is not a number',
      sample([1, 2], [0, 1], { advantages: Float32Array.of(0, Number.NaN) }),
      /advantages\[1\] is NaN/,
    ],
    [
      'a logprob of minus infinity',
      sample([1, 2], [0, 1], { logprobs: Float32Array.of(0, -Infinity) }),
      /logprobs\[1\] is -Infinity/,
    ],
    ['a negative id', sample([1, -2], [0, 1]), /ids\[1\] is -2/],
  ])('refuses %s, naming the episode', (_, row, message) => {
    expect(() => packTrees([row], { maxPackTokens: 10 })).toThrow(message);
    expect(() => packTrees([row], { maxPackTokens: 10 })).toThrow(/episode "a"/);
  });

  it.each([
    [{ maxPackTokens: Number.NaN }, 'maxPackTokens is NaN; it must be at least 1.'],
    [{ maxPackTokens: 0 }, 'maxPackTokens is 0; it must be at least 1.'],
    [
      { maxPackTokens: 8, normalization: { constantLength: 0 } },
      'normalization.constantLength is 0; it must be a number of tokens above 0.',
    ],
    [
      { maxPackTokens: 8, normalization: 'tokens' as 'token' },
      'normalization is "tokens"; choose one of token, sequence.',
    ],
    [{ maxPackTokens: 8, weighting: 'rows' as 'row' }, 'weighting is "rows"; choose one of episode, row.'],
    [{ maxPackTokens: 8, sharing: 'all' as 'tree' }, 'sharing is "all"; choose one of tree, prompt, linear, none.'],
  ] as const)('refuses options that mean nothing: %j', (options, problem) => {
    expect(() => packTrees([sample([1, 2], [0, 1])], options)).toThrow(problem);
  });

  it('makes no pack of nothing', () => {
    expect(packTrees([], { maxPackTokens: 10 })).toMatchObject({
      packs: [],
      report: { rows: 0, ratio: 1, trainedTokens: 0 },
    });
    expect(packTrees([sample([1, 2], [0, 0])], { maxPackTokens: 10 })).toMatchObject({
      packs: [],
      report: { untrainedRows: 1 },
    });
  });
});
