/**
 * Finds the tokens that top-k and top-p keep of a distribution. Top-k is applied first, and top-p is applied to the
 * renormalised rest. Tokens are ranked by probability, then by lower id. Positive floats sort in the order of their
 * bits. One pass therefore counts tokens by their leading bits and finds the bucket that contains the cut, and only
 * that bucket is sorted.
 */

import type { TokenSampling } from '@agentjet/core';

export type Cutoff = {
  /** Tokens above this probability are kept. */
  readonly probability: number;
  /** Tokens at exactly this probability are kept up to this id. */
  readonly id: number;
  /** The sum of the probabilities that are kept. */
  readonly mass: number;
};

type Limits = Pick<TokenSampling, 'topK' | 'topP'>;

/** The range of possible cuts if the ratio of two probabilities has a relative error. */
export type CutoffRange = {
  readonly cutoff: Cutoff;
  /** No possible cut keeps tokens below this probability. */
  readonly lowest: number;
  /** Every possible cut keeps tokens with at least this probability. */
  readonly highest: number;
};

/** There are sixteen buckets per power of two. */
const bucketShift = 19;
const numBuckets = (0x3f800000 >>> bucketShift) + 2;
const counts = new Int32Array(numBuckets);
const masses = new Float64Array(numBuckets);

/**
 * `probabilities` [V] sum to 1, and their ratios have a relative error of at most `noise`. 0 <= topK (0 keeps all), 0 <
 * topP <= 1.
 */
export function findCutoff(probabilities: Float32Array, { topK, topP }: Limits, noise = 0): CutoffRange {
  countBuckets(probabilities);
  const rank = rememberLast((bucket: number) => rankBucket(probabilities, bucket));
  const byRank = cut(rank, { count: topK > 0 ? topK : Infinity, mass: Infinity });
  const cutAt = (share: number): Cut =>
    topP < 1 ? cut(rank, { count: byRank.count, mass: share * topP * byRank.mass }) : byRank;
  const cutoff = cutAt(1);
  if (noise === 0) return { cutoff, lowest: cutoff.probability, highest: cutoff.probability };
  // A token is certain if it ranks above the first token that the strictest cut leaves out.
  return {
    cutoff,
    lowest: cutAt(1 + noise).probability * (1 - noise),
    highest: cutAt(1 - noise).next() * (1 + noise),
  };
}

/**
 * Returns `compute` with a memory of its last result. Cuts that differ by little are in the same bucket, so it is often
 * used again.
 */
function rememberLast<Result>(compute: (argument: number) => Result): (argument: number) => Result {
  let last: { readonly argument: number; readonly result: Result } | undefined;
  return (argument) => {
    if (last?.argument !== argument) last = { argument, result: compute(argument) };
    return last.result;
  };
}

function countBuckets(probabilities: Float32Array): void {
  counts.fill(0);
  masses.fill(0);
  const bits = toBits(probabilities);
  for (let id = 0; id < bits.length; id += 1) {
    const bucket = bucketOf(bits[id] ?? 0);
    counts[bucket] = (counts[bucket] ?? 0) + 1;
    masses[bucket] = (masses[bucket] ?? 0) + (probabilities[id] ?? 0);
  }
}

type Cut = Cutoff & {
  readonly count: number;
  /** The probability of the first token that is not kept, or 0 if all are kept. */
  readonly next: () => number;
};

/** Keeps tokens from the top until either limit is reached. The token that reaches it is kept. */
function cut(
  rank: (bucket: number) => readonly RankedToken[],
  limit: { readonly count: number; readonly mass: number },
): Cut {
  let [count, mass] = [0, 0];
  let bucket = numBuckets - 1;
  for (; bucket > 0; bucket -= 1) {
    const [nextCount, nextMass] = [count + (counts[bucket] ?? 0), mass + (masses[bucket] ?? 0)];
    if (nextCount >= limit.count || nextMass >= limit.mass) break;
    [count, mass] = [nextCount, nextMass];
  }
  let last = { probability: 0, id: -1 };
  let inBucket = 0;
  for (const token of rank(bucket)) {
    if (count >= limit.count || mass >= limit.mass) break;
    last = token;
    count += 1;
    mass += token.probability;
    inBucket += 1;
  }
  return { ...last, mass, count, next: () => rank(bucket)[inBucket]?.probability ?? largestBelow(rank, bucket) };
}

function largestBelow(rank: (bucket: number) => readonly RankedToken[], bucket: number): number {
  let below = bucket - 1;
  while (below > 0 && counts[below] === 0) below -= 1;
  return below < 0 ? 0 : (rank(below)[0]?.probability ?? 0);
}

type RankedToken = { readonly probability: number; readonly id: number };

function rankBucket(probabilities: Float32Array, bucket: number): readonly RankedToken[] {
  const bits = toBits(probabilities);
  const members: RankedToken[] = [];
  for (let id = 0; id < bits.length; id += 1) {
    const probability = probabilities[id] ?? 0;
    if (probability > 0 && bucketOf(bits[id] ?? 0) === bucket) members.push({ probability, id });
  }
  return members.sort((left, right) => right.probability - left.probability || left.id - right.id);
}

function toBits(probabilities: Float32Array): Uint32Array {
  return new Uint32Array(probabilities.buffer, probabilities.byteOffset, probabilities.length);
}

function bucketOf(bits: number): number {
  return Math.min(bits >>> bucketShift, numBuckets - 1);
}
