import { describe, expect, it } from 'vitest';
import { createRandom } from '@agentjet/core';
import type { TokenSampling } from '@agentjet/core';
import { drawToken, toInverseTemperature } from './sampler.js';

const plain: TokenSampling = { temperature: 1, topP: 1, topK: 0, maxTokens: 1, stopIds: [], seed: 0 };

function normalize(weights: readonly number[]): Float32Array {
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  return Float32Array.from(weights, (weight) => weight / total);
}

/** Returns the share of each id over many seeds. */
function frequencies(probabilities: Float32Array, sampling: Partial<TokenSampling>, numDraws = 40_000): number[] {
  const counts = Array.from(probabilities, () => 0);
  for (let seed = 0; seed < numDraws; seed += 1) {
    const draw = drawToken(probabilities, { ...plain, ...sampling, seed }, seed % 7);
    if (draw !== undefined) counts[draw.id] = (counts[draw.id] ?? 0) + 1;
  }
  return counts.map((count) => count / numDraws);
}

describe('drawToken', () => {
  it('draws tokens as often as their probability says', () => {
    const probabilities = normalize([8, 4, 2, 1, 0.5, 0, 0.1]);
    for (const [id, share] of frequencies(probabilities, {}).entries()) {
      const expected = probabilities[id] ?? 0;
      expect(Math.abs(share - expected)).toBeLessThan(4 * Math.sqrt((expected * (1 - expected)) / 40_000) + 1e-9);
    }
  });

  it('draws consecutive tokens of one seed independently', () => {
    const probabilities = normalize([1, 1]);
    let same = 0;
    for (let seed = 0; seed < 20_000; seed += 1) {
      const [first, second] = [0, 1].map((index) => drawToken(probabilities, { ...plain, seed }, index)?.id);
      if (first === second) same += 1;
    }
    expect(Math.abs(same / 20_000 - 0.5)).toBeLessThan(0.015);
  });

  it('gives the same token for the same seed and index, and the logprob of what it drew from', () => {
    const probabilities = normalize([3, 2, 5, 1]);
    const draw = drawToken(probabilities, { ...plain, seed: 9 }, 4);
    expect(drawToken(probabilities, { ...plain, seed: 9 }, 4)).toEqual(draw);
    expect(draw?.logprob).toBeCloseTo(Math.log(probabilities[draw?.id ?? 0] ?? 0), 6);
  });

  it('takes the most likely token with its softmax logprob when greedy, the lower id on a tie', () => {
    const probabilities = normalize([1, 4, 4, 1]);
    expect(drawToken(probabilities, { ...plain, temperature: 0, topK: 1, topP: 0.1 }, 0)).toEqual({
      id: 1,
      logprob: Math.fround(Math.log(Math.fround(0.4))),
      isClear: true,
    });
  });

  it('hardly ever changes the token when the probabilities carry float noise', () => {
    const size = 2000;
    const probabilities = normalize(Array.from({ length: size }, (_, id) => 1 + Math.sin(id)));
    const noisy = probabilities.map((probability, id) => probability * (1 + 1e-6 * Math.cos(id * 13)));
    let changed = 0;
    for (let seed = 0; seed < 5000; seed += 1) {
      const sampling = { ...plain, seed };
      if (drawToken(probabilities, sampling, 0)?.id !== drawToken(noisy, sampling, 0)?.id) changed += 1;
    }
    expect(changed).toBeLessThanOrEqual(1);
  });

  it.each<[string, Partial<TokenSampling>, number]>([
    ['everything', {}, 0.9],
    ['top-k', { topK: 7 }, 0.85],
    ['top-p', { topP: 0.8 }, 0.85],
    ['both', { topK: 9, topP: 0.6 }, 0.8],
    ['greedy', { temperature: 0 }, 0.7],
  ])('is sure of a token only if no noise of that size would change it: %s', (_, sampling, share) => {
    const [random, noise] = [createRandom(3), 0.01];
    const disturb = (probabilities: Float32Array): Float32Array =>
      probabilities.map((probability) => probability * (1 + 0.49 * noise * (random.next() * 2 - 1)));
    let numClear = 0;
    for (let seed = 0; seed < 3000; seed += 1) {
      const probabilities = normalize(Array.from({ length: 30 }, () => Math.exp(4 * random.next())));
      const draw = drawToken(probabilities, { ...plain, ...sampling, seed }, 0, noise);
      if (draw?.isClear !== true) continue;
      numClear += 1;
      const ids = [probabilities, disturb(probabilities), disturb(probabilities)].map(
        (other) => drawToken(other, { ...plain, ...sampling, seed }, 0)?.id,
      );
      expect(ids).toEqual([draw.id, draw.id, draw.id]);
    }
    expect(numClear / 3000).toBeGreaterThan(share);
    expect(numClear).toBeLessThan(3000);
  });

  it('returns nothing if the probabilities are not numbers', () => {
    const broken = new Float32Array(4).fill(NaN);
    expect(drawToken(broken, plain, 0)).toBeUndefined();
    expect(drawToken(broken, { ...plain, temperature: 0 }, 0)).toBeUndefined();
    expect(drawToken(broken, { ...plain, topP: 0.5, topK: 2 }, 0)).toBeUndefined();
  });
});

describe('top-k and top-p', () => {
  /** Returns the kept ids and their renormalised probabilities, found by sorting. */
  function reference(probabilities: Float32Array, topK: number, topP: number): Map<number, number> {
    const sorted = [...probabilities.entries()].sort((left, right) => right[1] - left[1] || left[0] - right[0]);
    const ranked = topK > 0 ? sorted.slice(0, topK) : sorted;
    const total = ranked.reduce((sum, [, probability]) => sum + probability, 0);
    let mass = 0;
    const kept = ranked.filter(([, probability]) => {
      const isIn = mass < topP * total;
      mass += probability;
      return isIn && probability > 0;
    });
    const keptMass = kept.reduce((sum, [, probability]) => sum + probability, 0);
    return new Map(kept.map(([id, probability]) => [id, Math.log(probability / keptMass)]));
  }

  it.each([
    [0, 0.9],
    [0, 0.3],
    [5, 1],
    [1, 1],
    [7, 0.5],
    [1000, 0.999],
  ])('keep what a sort would keep, with renormalised logprobs (k %i, p %f)', (topK, topP) => {
    for (let trial = 0; trial < 60; trial += 1) {
      const spread = 0.2 + trial / 10;
      const probabilities = normalize(
        Array.from({ length: 50 }, (_, id) => Math.exp(spread * Math.sin(id * (trial + 1)) * 2)),
      );
      const kept = reference(probabilities, topK, topP);
      const seen = new Set<number>();
      for (let seed = 0; seed < 50; seed += 1) {
        const draw = drawToken(probabilities, { ...plain, topK, topP, seed }, trial);
        expect(draw?.logprob).toBeCloseTo(kept.get(draw?.id ?? -1) ?? NaN, 4);
        seen.add(draw?.id ?? -1);
      }
      expect(seen.size).toBeGreaterThanOrEqual(Math.min(2, kept.size));
    }
  });

  it('keep exactly k of equal tokens, the lower ids', () => {
    const shares = frequencies(normalize([1, 1, 1, 1, 1]), { topK: 2 }, 4000);
    expect(shares[0]).toBeGreaterThan(0.45);
    expect(shares[1]).toBeGreaterThan(0.45);
    expect(shares.slice(2)).toEqual([0, 0, 0]);
  });

  it('keep everything with a probability if fewer tokens have one than k asks for', () => {
    const shares = frequencies(normalize([2, 0, 1, 0, 0, 0]), { topK: 5, topP: 1 }, 4000);
    expect(shares[0]).toBeGreaterThan(0.6);
    expect(shares[1]).toBe(0);
  });
});

it('samples a vanishing temperature as if greedy, without overflow', () => {
  expect(toInverseTemperature(1e-300)).toBeCloseTo(1e5, 5);
  expect(toInverseTemperature(0)).toBe(1);
  expect(toInverseTemperature(0.5)).toBe(2);
});
