/**
 * Where top-k and top-p cut a distribution: top-k first, top-p on what it leaves, renormalised. Tokens are ranked by
 * probability, then by lower id. Positive floats order like their bits, so one counting pass over the leading bits
 * finds the bucket of the cut and only that bucket is sorted.
 */

export type Cutoff = {
  /** Tokens above this are kept. */
  readonly probability: number;
  /** Tokens exactly at it are kept up to this id. */
  readonly id: number;
  /** Sum of what is kept. */
  readonly mass: number;
};

type Limits = { readonly topK: number; readonly topP: number };

/** Sixteen buckets per power of two. */
const bucketShift = 19;
const numBuckets = (0x3f800000 >>> bucketShift) + 2;
const counts = new Int32Array(numBuckets);
const masses = new Float64Array(numBuckets);

/** Of probabilities [V] that sum to 1; 0 <= topK (0 keeps all), 0 < topP <= 1. */
export function findCutoff(probabilities: Float32Array, { topK, topP }: Limits): Cutoff {
  countBuckets(probabilities);
  const byRank = cut(probabilities, { count: topK > 0 ? topK : Infinity, mass: Infinity });
  return topP < 1 ? cut(probabilities, { count: byRank.count, mass: topP * byRank.mass }) : byRank;
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

/** Keeps from the top until either limit is reached; the token that reaches it is kept. */
function cut(probabilities: Float32Array, limit: { readonly count: number; readonly mass: number }): Cutoff & { readonly count: number } {
  let [count, mass] = [0, 0];
  let bucket = numBuckets - 1;
  for (; bucket > 0; bucket -= 1) {
    const [nextCount, nextMass] = [count + (counts[bucket] ?? 0), mass + (masses[bucket] ?? 0)];
    if (nextCount >= limit.count || nextMass >= limit.mass) break;
    [count, mass] = [nextCount, nextMass];
  }
  let last = { probability: 0, id: -1 };
  for (const token of rankBucket(probabilities, bucket)) {
    if (count >= limit.count || mass >= limit.mass) break;
    last = token;
    count += 1;
    mass += token.probability;
  }
  return { ...last, mass, count };
}

function rankBucket(probabilities: Float32Array, bucket: number): readonly { readonly probability: number; readonly id: number }[] {
  const bits = toBits(probabilities);
  const members: { readonly probability: number; readonly id: number }[] = [];
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
