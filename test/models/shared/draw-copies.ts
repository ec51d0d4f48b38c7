import { createRandom, type Random, type Sample } from '@agentjet/core';

export type CopyOptions = { readonly numTokens: number; readonly seed: number };

/** The limits of the number of tokens in the repeated piece, in a whole row, and between two repetitions. */
const [shortestPiece, longestPiece] = [2, 8];
const [shortestRow, longestRow] = [32, 48];
const longestGap = 4;

function intBetween(least: number, most: number, random: Random): number {
  return least + random.int(most - least + 1);
}

function drawCopy(index: number, numTokens: number, random: Random): Sample {
  const drawIds = (count: number): readonly number[] => Array.from({ length: count }, () => random.int(numTokens));
  const piece = drawIds(intBetween(shortestPiece, longestPiece, random));
  const length = intBetween(shortestRow, longestRow, random);
  const ids = [...drawIds(random.int(longestGap + 1)), ...piece];
  const lossMask = ids.map(() => 0);
  while (ids.length < length) {
    const gap = drawIds(random.int(longestGap + 1));
    ids.push(...gap, ...piece);
    lossMask.push(...gap.map(() => 0), ...piece.map((_, place) => Math.min(place, 1)));
  }
  return {
    episodeId: `copy-${index}`,
    agentName: 'copyist',
    targetTag: 'copyist',
    ids: Int32Array.from(ids),
    lossMask: Uint8Array.from(lossMask),
    logprobs: new Float32Array(ids.length),
    policyVersions: Int32Array.from(lossMask, (mask) => mask - 1),
    advantages: new Float32Array(ids.length),
  };
}

/**
 * Makes rows without end in which a short piece of random tokens, with ids below `numTokens`, comes again and again
 * with random tokens between. The task is to predict the rest of a repetition after its first token. It can be solved
 * only by looking back for the same token and copying what followed it (an induction head; Olsson et al. 2022).
 */
export function* drawCopies({ numTokens, seed }: CopyOptions): Generator<Sample> {
  const random = createRandom(seed);
  for (let index = 0; ; index++) yield drawCopy(index, numTokens, random);
}
