import type { Random, Sample } from '@agentjet/core';

export type RandomSampleOptions = {
  readonly numRows: number;
  readonly maxLength: number;
  readonly vocabSize: number;
  readonly numEpisodes: number;
};

/**
 * Makes rows that share tokens in every way. A row is new, or a copy, a prefix or a continuation of an earlier row, or
 * it differs from an earlier row from a random position on. This position may be the first one, or inside a generated
 * span. The same `random` gives the same rows.
 */
export function createRandomSamples(random: Random, options: RandomSampleOptions): Sample[] {
  const rows: number[][] = [];
  for (let row = 0; row < options.numRows; row++) rows.push(randomRow(random, rows, options));
  return rows.map((ids) => createRandomSample(random, ids, options.numEpisodes));
}

function randomRow(
  random: Random,
  earlier: readonly number[][],
  { maxLength, vocabSize }: RandomSampleOptions,
): number[] {
  const fresh = (length: number): number[] => Array.from({ length }, () => random.int(vocabSize));
  const other = earlier[random.int(Math.max(earlier.length, 1))] ?? [];
  switch (random.int(earlier.length === 0 ? 1 : 5)) {
    case 1:
      return [...other];
    case 2:
      return other.slice(0, 1 + random.int(other.length));
    case 3:
      return [...other, ...fresh(1 + random.int(maxLength))];
    case 4:
      return [...other.slice(0, random.int(other.length + 1)), ...fresh(1 + random.int(maxLength))];
    default:
      return fresh(1 + random.int(maxLength));
  }
}

/** Half of the tokens are trained, in spans. Logprobs, advantages and the episode are random. */
export function createRandomSample(random: Random, ids: readonly number[], numEpisodes: number): Sample {
  let trained = 0;
  const lossMask = Uint8Array.from(ids, (_, t) => {
    if (random.int(3) === 0) trained = 1 - trained;
    return t === 0 ? 0 : trained;
  });
  const episode = random.int(numEpisodes);
  return {
    episodeId: `episode-${episode}`,
    agentName: 'agent',
    targetTag: 'agent',
    ids: Int32Array.from(ids),
    lossMask,
    logprobs: Float32Array.from(lossMask, (mask) => (mask === 1 ? -0.1 - 2 * random.next() : 0)),
    policyVersions: Int32Array.from(lossMask, (mask) => (mask === 1 ? 0 : -1)),
    advantages: Float32Array.from(lossMask, (mask) => (mask === 1 ? 2 * random.next() - 1 : 0)),
  };
}
