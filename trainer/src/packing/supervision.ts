import type { Sample } from '@agentjet/core';
import { groupBy } from './group-by.js';
import { layOut, TokenTrie } from './token-trie.js';

/** How a generated token counts if several rows of its episode contain it; see `superviseRows`. */
export type Weighting = 'episode' | 'row';
/** The denominator of the step's loss. `superviseRows` has formulas and sources. `constantLength` is in tokens. */
export type Normalization = 'token' | 'sequence' | { readonly constantLength: number };

/** Lists the trained tokens of each row, and the weight of each. */
export type Supervision = {
  /** The supervised positions of each row, ascending. */
  readonly positions: readonly Int32Array[];
  /** The weight of each row's terms in the loss of the whole optimizer step. */
  readonly weights: readonly number[];
  readonly trainedTokens: number;
  /** The number of tokens with lossMask 1 that another row of their episode already supervises. */
  readonly repeatedTokens: number;
};

/**
 * Chooses the terms of the step's loss, which is the sum over terms of weight * loss(term).
 * - `row`: every position with lossMask 1 of every row is a term.
 * - `episode`: a generated token that several rows of one episode contain is a term once, in the first of them.
 * - `token`: every term weighs 1 / number of terms (DAPO, Yu et al. 2025).
 * - `sequence`: mean over sequences (episodes; under `row` the rows) of the mean over their terms (GRPO, Shao et al.
 *   2024).
 * - `constantLength` L: mean over sequences of the sum over their terms, divided by L (Dr. GRPO, Liu et al. 2025).
 */
export function superviseRows(
  samples: readonly Sample[],
  options: { readonly weighting: Weighting; readonly normalization: Normalization },
): Supervision {
  const positions = options.weighting === 'row' ? samples.map(maskedPositions) : firstOccurrences(samples);
  const sequenceOf = options.weighting === 'row' ? (row: number) => row : (row: number) => samples[row]?.episodeId;
  const trainedTokens = countTerms(positions);
  const weights = weighRows(positions, sequenceOf, options.normalization);
  return {
    positions,
    weights,
    trainedTokens,
    repeatedTokens: countTerms(samples.map(maskedPositions)) - trainedTokens,
  };
}

function maskedPositions(sample: Sample): Int32Array {
  const positions = new Int32Array(sample.lossMask.length);
  let count = 0;
  for (let t = 0; t < positions.length; t++) if (sample.lossMask[t] === 1) positions[count++] = t;
  return positions.subarray(0, count);
}

function countTerms(positions: readonly Int32Array[]): number {
  return positions.reduce((sum, row) => sum + row.length, 0);
}

function firstOccurrences(samples: readonly Sample[]): Int32Array[] {
  const kept = samples.map(maskedPositions);
  const ids = samples.map((sample) => sample.ids);
  for (const rows of groupBy(samples.keys(), (row) => samples[row]?.episodeId).values()) {
    if (rows.length > 1) keepFirstOccurrences(samples, new TokenTrie({ ids }, rows), rows, kept);
  }
  return kept;
}

/** `rows` are the rows of one episode. */
function keepFirstOccurrences(
  samples: readonly Sample[],
  trie: TokenTrie,
  rows: readonly number[],
  kept: Int32Array[],
): void {
  const path = new Int32Array(layOut(trie.preorder(), 0));
  const seen = new Set<number>();
  for (const row of rows) {
    const sample = samples[row];
    if (sample === undefined) continue;
    trie.writePath(row, path);
    kept[row] = kept[row]?.filter((t) => isNew(seen, generatedToken(sample, t, path[t] as number))) ?? new Int32Array();
  }
}

/**
 * Returns a number that identifies a generated token. It contains the turn, because two calls of an episode may sample
 * the same id in the same context.
 */
function generatedToken(sample: Sample, position: number, packedIndex: number): number {
  const turn = sample.turnIndices?.[position] ?? -1;
  return packedIndex + (turn + 1) * 2 ** 32;
}

function isNew(seen: Set<number>, key: number): boolean {
  const size = seen.size;
  return seen.add(key).size > size;
}

function weighRows(
  positions: readonly Int32Array[],
  sequenceOf: (row: number) => unknown,
  normalization: Normalization,
): number[] {
  if (normalization === 'token') {
    const numTerms = countTerms(positions);
    return positions.map(() => 1 / numTerms);
  }
  const terms = new Map<unknown, number>();
  positions.forEach(({ length }, row) => {
    if (length > 0) terms.set(sequenceOf(row), (terms.get(sequenceOf(row)) ?? 0) + length);
  });
  const lengthOf = (row: number) =>
    normalization === 'sequence' ? (terms.get(sequenceOf(row)) ?? 1) : normalization.constantLength;
  return positions.map((_, row) => 1 / (terms.size * lengthOf(row)));
}
