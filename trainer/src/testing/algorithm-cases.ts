import assert from 'node:assert/strict';
import {
  createRandom,
  type Algorithm,
  type ContractCase,
  type EpisodeGroup,
  type LossOptions,
  type Sample,
} from '@agentjet/core';
import { packTrees } from '../packing/pack-trees.js';
import { createRandomGroup } from './random-group.js';
import { createTinyWeights, tinyGradient } from './tiny-model.js';
import { plainLoss } from './plain-loss.js';

const shape = { vocabSize: 5, width: 4 };
const weights = createTinyWeights(shape, 3);
const policy: LossOptions = { ...plainLoss, entropyCoef: 0.02 };
const rewardLists: readonly (readonly number[])[] = [[1, 0, 0.5, 0], [0, 1], [1, 1, 1], [-1], [0, -1, 3, 0.25, 0.25]];

const groupsOf = (isCut: (episode: number) => boolean): readonly EpisodeGroup[] =>
  rewardLists.map((rewards, at) => createRandomGroup(`g${at}`, rewards, { isCut, vocabSize: shape.vocabSize }));

/** Credits groups as a step does, all together if the algorithm compares them. */
export function creditAll(algorithm: Algorithm, groups: readonly EpisodeGroup[]): readonly Sample[] {
  return algorithm.creditBatch?.(groups) ?? groups.flatMap((group) => algorithm.credit(group));
}

function gradientOf(algorithm: Algorithm, groups: readonly EpisodeGroup[]): readonly number[] {
  const sum = Array.from<number>({ length: weights.length }).fill(0);
  for (const pack of packTrees(creditAll(algorithm, groups), { maxPackTokens: 20 }).packs)
    tinyGradient(weights, shape, pack, policy, weights).gradient.forEach(
      (value, index) => (sum[index] = (sum[index] ?? 0) + value),
    );
  return sum;
}

function assertSame(found: readonly number[], expected: readonly number[], message: string): void {
  for (const [index, value] of expected.entries())
    assert.ok(
      Math.abs((found[index] ?? Number.NaN) - value) < 1e-7,
      `${message}: ${found[index]} instead of ${value}.`,
    );
}

/**
 * These cases hold for every Algorithm, ours and yours: `for (const { name, run } of algorithmCases(create)) it(name,
 * run)`.
 */
export function algorithmCases(create: () => Algorithm): readonly ContractCase[] {
  const named = (name: string, check: (algorithm: Algorithm) => void): ContractCase => ({
    name,
    run: async () => check(create()),
  });
  return [
    named('gives the same gradient however its episodes are cut into samples', (algorithm) => {
      const whole = gradientOf(
        algorithm,
        groupsOf(() => false),
      );
      for (const isCut of [() => true, (episode: number) => episode % 2 === 0])
        assertSame(gradientOf(algorithm, groupsOf(isCut)), whole, 'Cutting episodes changes the gradient');
    }),
    named('does not depend on the order of the groups', (algorithm) => {
      const groups = groupsOf(() => true);
      const forward = gradientOf(algorithm, groups);
      assertSame(gradientOf(algorithm, groups.toReversed()), forward, 'The order of the groups changes the gradient');
    }),
    named('sets advantages of generated tokens, and changes nothing else', (algorithm) => {
      const before = groupsOf(() => true).flatMap(({ episodes }) => episodes.flatMap(({ samples }) => samples));
      const after = creditAll(
        algorithm,
        groupsOf(() => true),
      );
      assert.equal(after.length, before.length, 'Samples were added or left out');
      for (const [index, sample] of after.entries()) {
        const { advantages, lossMask } = sample;
        assert.ok([...advantages].every((value, t) => Number.isFinite(value) && (value === 0 || lossMask[t] === 1)));
        assert.deepEqual({ ...sample, advantages: null }, { ...before[index], advantages: null });
      }
    }),
    named('leaves the groups that it is given as they are', (algorithm) => {
      const groups = groupsOf(() => false);
      creditAll(algorithm, groups);
      assert.deepEqual(
        groups,
        groupsOf(() => false),
      );
    }),
    named('gives one finite slope for each term, if it brings its own loss', checkSlope),
    named('learns from at least one of groups whose rewards differ', (algorithm) => {
      const samples = creditAll(
        algorithm,
        groupsOf(() => false),
      );
      assert.ok(samples.some(({ advantages }) => advantages.some((value) => value !== 0)));
    }),
  ];
}

function checkSlope(algorithm: Algorithm): void {
  const random = createRandom(5);
  const numTerms = 40;
  const fill = (value: () => number) => Float64Array.from({ length: numTerms }, value);
  const found = algorithm.slope?.({
    logprobs: fill(() => -3 * random.next()),
    behaviour: fill(() => -3 * random.next()),
    advantages: fill(() => 2 * random.next() - 1),
    weights: fill(() => 1 / numTerms),
    sequence: Int32Array.from({ length: numTerms }, (_, k) => k >> 3),
  });
  if (found === undefined) return;
  const slopes = 'slopes' in found ? found.slopes : found;
  assert.equal(slopes.length, numTerms, 'one slope for each term');
  for (const [k, slope] of Array.from(slopes).entries()) assert.ok(Number.isFinite(slope), `slope ${k} is ${slope}`);
}
