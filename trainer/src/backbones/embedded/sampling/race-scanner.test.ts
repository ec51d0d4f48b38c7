import { expect, it } from 'vitest';
import { createRandom } from '@agentjet/core';
import { hashConstants, scanRace } from './race-scanner.js';

/** The uniform number of a token in double precision. */
function uniformOf(id: number, key: number): number {
  let mixed = key ^ Math.imul(id, hashConstants.idFactor);
  mixed = Math.imul(mixed ^ (mixed >>> 16), hashConstants.first);
  mixed = Math.imul(mixed ^ (mixed >>> 13), hashConstants.second);
  return (((mixed ^ (mixed >>> 16)) >>> 0) + 0.5) / 2 ** 32;
}

function randomProbabilities(length: number, random: ReturnType<typeof createRandom>): Float32Array {
  const weights = Array.from({ length }, () => (random.next() < 0.1 ? 0 : Math.exp(8 * random.next())));
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  return Float32Array.from(weights, (weight) => weight / total);
}

/** Returns the first ids of all groups of four at which the scan stops. */
function stops(probabilities: Float32Array, key: number, latest: number): number[] {
  const scan = scanRace(probabilities, key);
  if (scan === undefined) throw new Error('This runtime has no SIMD.');
  const found: number[] = [];
  for (let id = scan(0, latest); id < probabilities.length; id = scan(id + 4, latest)) found.push(id);
  return found;
}

it('stops at exactly the groups that have a token which may win, in vocabularies of any size', () => {
  const random = createRandom(1);
  for (const length of [1, 3, 4, 1001, 40_000, 17]) {
    const probabilities = randomProbabilities(length, random);
    for (const latest of [Infinity, 30, 1, 0.01]) {
      const key = random.int(2 ** 32) | 0;
      const groups = new Set<number>();
      for (const [id, probability] of probabilities.entries())
        if (1 - uniformOf(id, key) < latest * probability) groups.add(id - (id % 4));
      expect(stops(probabilities, key, latest)).toEqual([...groups]);
    }
  }
});

it('does not stop at probabilities of 0 or at what is not a number', () => {
  expect(stops(new Float32Array(8), 7, Infinity)).toEqual([]);
  expect(stops(new Float32Array(8).fill(NaN), 7, 1)).toEqual([]);
  expect(stops(Float32Array.of(0, 0, 0, 0, 0, 1), 7, Infinity)).toEqual([4]);
});
