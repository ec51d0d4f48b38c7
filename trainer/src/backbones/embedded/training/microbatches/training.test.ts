import { createRandom } from '@agentjet/core';
import type { TreePack } from '@agentjet/core';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { padPack } from '../../../../testing/pad-pack.js';
import { packTrees } from '../../../../packing/pack-trees.js';
import { createRandomSamples } from '../../../../testing/random-samples.js';
import { keysPerRow, writeAttentionBias } from './attention-bias.js';
import { microbatchArrays } from './microbatch-arrays.js';
import { planMicrobatches } from './plan-microbatches.js';
import { treesOfPack } from './trees-of-pack.js';
import type { MicrobatchLimits } from './plan-microbatches.js';

const insideRows: MicrobatchLimits = {
  maxTokens: () => 40,
  maxKeptTokens: () => 64,
  fewTokens: 16,
  pathRowLengths: [4],
  pathReadCost: Number.POSITIVE_INFINITY,
};
const acrossRows: MicrobatchLimits = { ...insideRows, pathReadCost: Number.NEGATIVE_INFINITY };

function randomPacks(seed: number): readonly TreePack[] {
  const samples = createRandomSamples(createRandom(seed), { numRows: 14, maxLength: 7, vocabSize: 9, numEpisodes: 4 });
  return packTrees(samples, { maxPackTokens: 64 }).packs;
}

const packs = fc
  .nat()
  .map(randomPacks)
  .filter((some) => some.length > 0);
const limits = fc.constantFrom(insideRows, acrossRows);

describe('trees of a pack', () => {
  test('hold every pair and every term once, each inside its tree', () => {
    fc.assert(
      fc.property(packs, (some) => {
        for (const pack of some) {
          const trees = treesOfPack(pack);
          expect(trees.flatMap(({ pairs }) => [...pairs]).toSorted((a, b) => a - b)).toEqual([
            ...pack.predictors.keys(),
          ]);
          expect(trees.flatMap(({ terms }) => [...terms]).toSorted((a, b) => a - b)).toEqual([
            ...pack.terms.pair.keys(),
          ]);
          for (const { start, end, pairs, terms } of trees) {
            for (const pair of pairs)
              expect(pack.predictors[pair]).toSatisfy((token: number) => token >= start && token < end);
            for (const term of terms) expect(pairs).toContain(pack.terms.pair[term]);
            for (let token = start; token < end; token++) expect(pack.ends[token]).toBeLessThanOrEqual(end);
          }
        }
      }),
      { numRuns: 30 },
    );
  });

  test('padding is not a tree', () => {
    const [pack] = randomPacks(4);
    if (pack === undefined) throw new Error('The seed makes no pack.');
    expect(treesOfPack(padPack(pack, pack.ids.length + 9))).toHaveLength(treesOfPack(pack).length);
  });
});

describe('a plan of micro-batches', () => {
  test('places every tree once, inside its grid, over no other', () => {
    fc.assert(
      fc.property(packs, limits, (some, limit) => {
        const trees = some.flatMap(treesOfPack);
        const microbatches = planMicrobatches(trees, limit);
        expect(new Set(microbatches.flatMap((one) => one.trees.map(({ tree }) => tree)))).toEqual(new Set(trees));
        for (const { numRows, rowLength, trees: placed, hasPaths } of microbatches) {
          const taken = new Uint8Array(numRows * rowLength);
          for (const { tree, start } of placed) {
            const end = start + tree.end - tree.start;
            expect(end).toBeLessThanOrEqual(taken.length);
            expect(taken.subarray(start, end).includes(1)).toBe(false);
            taken.fill(1, start, end);
            if (!hasPaths) expect(Math.floor(start / rowLength)).toBe(Math.floor((end - 1) / rowLength));
          }
          if (placed.length > 1 && !hasPaths) expect(taken.length).toBeLessThanOrEqual(Math.max(40, rowLength));
        }
      }),
      { numRuns: 30 },
    );
  });

  test('equal trees share a micro-batch up to the limit; a much smaller one does not widen it for long', () => {
    const trees = [...Array.from({ length: 6 }, () => 8), 3, 2].map((length) => treeOf(length));
    const sizes = planMicrobatches(trees, insideRows).map(({ numRows, rowLength }) => `${numRows} x ${rowLength}`);
    expect(sizes).toEqual(['5 x 8', '2 x 8']);
    const withGap = planMicrobatches([treeOf(10), treeOf(7), treeOf(3)], insideRows);
    expect(withGap.map(({ numRows, rowLength }) => `${numRows} x ${rowLength}`)).toEqual(['2 x 10']);
  });
});

function treeOf(length: number) {
  const ids = new Int32Array(length);
  const none = new Float32Array(0);
  const pack: TreePack = {
    ids,
    positions: ids.map((_, position) => position),
    ends: ids.map(() => length),
    predictors: Int32Array.of(0),
    targets: Int32Array.of(0),
    terms: { pair: new Int32Array(0), sequence: new Int32Array(0), weights: none, advantages: none, logprobs: none },
    rowTokens: length,
  };
  const [tree] = treesOfPack(pack);
  if (tree === undefined) throw new Error('A pack with a pair has a tree.');
  return tree;
}

test('every query sees exactly the tokens k with k <= q < ends[k], through the row or its path', () => {
  fc.assert(
    fc.property(packs, limits, (some, limit) => {
      for (const microbatch of planMicrobatches(some.flatMap(treesOfPack), limit)) {
        const arrays = microbatchArrays(microbatch, 1);
        const { numRows, rowLength, ends, paths } = arrays;
        const numKeys = keysPerRow(arrays);
        const bias = new Float32Array(numRows * rowLength * numKeys).fill(Number.NaN);
        writeAttentionBias(arrays, bias);
        for (let query = 0; query < ends.length; query++) {
          const row = Math.floor(query / rowLength);
          const onPath =
            paths === undefined ? [] : [...paths.tokens.subarray(row * paths.length, (row + 1) * paths.length)];
          const keys = [...onPath, ...Array.from({ length: rowLength }, (_, index) => row * rowLength + index)];
          const seen = keys.filter((_, key) => bias[query * numKeys + key] === 0).toSorted((a, b) => a - b);
          const expected = [...ends.keys()].filter((key) => key <= query && query < (ends[key] ?? 0));
          expect(seen).toEqual(expected);
        }
      }
    }),
    { numRuns: 40 },
  );
});
