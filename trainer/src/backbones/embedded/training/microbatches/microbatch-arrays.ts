/** Writes a micro-batch as the arrays that the graphs take. */

import { outsideOfSet, wholeVocabulary, type LossTerms } from '@agentjet/core';
import { mixRows, type RowSampling, type MixedRows } from './mixed-rows.js';
import { rootPaths } from './root-paths.js';
import type { Microbatch, PlacedTree } from './plan-microbatches.js';
import type { RootPaths } from './root-paths.js';

/**
 * Names of sizes: N = B * T tokens with n = row * T + t, U predicting tokens, M pairs, K terms. See sequence-inputs.ts
 * and training-graph.ts.
 */
export type MicrobatchArrays = {
  readonly numRows: number;
  readonly rowLength: number;
  readonly ids: Int32Array;
  readonly positions: Int32Array;
  /** Shape [N]: exclusive end of the tokens that see the token, over the whole grid. */
  readonly ends: Int32Array;
  /** Set if trees cross rows. */
  readonly paths: RootPaths | undefined;
  readonly headRows: Int32Array;
  readonly headInverse: Int32Array;
  readonly pairRows: Int32Array;
  readonly pairTargets: Int32Array;
  readonly termPairs: Int32Array;
  readonly termWeights: Float32Array;
  readonly termAdvantages: Float32Array;
  readonly termLogprobs: Float32Array;
  /** Shape [K]: 1 if the term is left out; its weight is then 0 here. */
  readonly termsLeftOut: Uint8Array;
  /**
   * Set if terms have their own temperatures or sets of tokens. A pair then consists of a token and one of these rows.
   */
  readonly mixed: MixedRows | undefined;
};

/** `temperature` applies to terms without their own. */
export function microbatchArrays(microbatch: Microbatch, temperature: number): MicrobatchArrays {
  const { numRows, rowLength, trees, hasPaths } = microbatch;
  const numTokens = numRows * rowLength;
  const tokens = placeTokens(trees, numTokens);
  const paths = hasPaths ? rootPaths(tokens.ends, rowLength) : undefined;
  const pairs = placePairs(trees, numTokens);
  const terms = placeTerms(trees);
  const arrays = { numRows, rowLength, ...tokens, paths, ...pairs, ...terms };
  const isMixed = trees.some(
    ({ tree: { pack } }) => pack.terms.temperatures !== undefined || pack.terms.kept !== undefined,
  );
  if (!isMixed) return { ...arrays, mixed: undefined };
  const draws = trees.flatMap(({ tree }) =>
    Array.from(tree.terms, (term) => drawOf(tree.pack.terms, term, temperature)),
  );
  const spare = { temperature, kept: undefined, set: wholeVocabulary };
  return { ...arrays, ...mixRows({ ...pairs, ...terms }, draws, spare) };
}

/**
 * Returns how the token of a term was drawn. A token that is not in its set counts as drawn from the whole vocabulary,
 * because its logprob would be infinite otherwise.
 */
function drawOf({ temperatures, kept }: LossTerms, term: number, temperature: number): RowSampling {
  const set = Math.max(kept?.set[term] ?? wholeVocabulary, wholeVocabulary);
  const ids = set < 0 ? undefined : kept?.ids.subarray(kept.starts[set], kept.starts[set + 1]);
  return { temperature: temperatures?.[term] ?? temperature, kept: ids, set };
}

/** Places the tokens of the trees in the grid. Padding is a token with id 0 at position 0 that no other token sees. */
function placeTokens(placed: readonly PlacedTree[], numTokens: number) {
  const [ids, positions] = [new Int32Array(numTokens), new Int32Array(numTokens)];
  const ends = Int32Array.from(ids, (_, token) => token + 1);
  for (const { tree, start } of placed) {
    ids.set(tree.pack.ids.subarray(tree.start, tree.end), start);
    positions.set(tree.pack.positions.subarray(tree.start, tree.end), start);
    ends.set(
      tree.pack.ends.subarray(tree.start, tree.end).map((end) => end - tree.start + start),
      start,
    );
  }
  return { ids, positions, ends };
}

function placePairs(placed: readonly PlacedTree[], numTokens: number) {
  const numPairs = placed.reduce((total, { tree }) => total + tree.pairs.length, 0);
  const [pairRows, pairTargets] = [new Int32Array(numPairs), new Int32Array(numPairs)];
  const [headRows, headInverse] = [new Int32Array(numPairs), new Int32Array(numTokens).fill(-1)];
  let [next, numHeadRows] = [0, 0];
  for (const { tree, start } of placed) {
    for (const pair of tree.pairs) {
      const token = at(tree.pack.predictors, pair) - tree.start + start;
      if (at(headInverse, token) < 0) {
        headRows[numHeadRows] = token;
        headInverse[token] = numHeadRows++;
      }
      pairRows[next] = at(headInverse, token);
      pairTargets[next++] = at(tree.pack.targets, pair);
    }
  }
  const inverse = headInverse.map((row) => (row < 0 ? numHeadRows : row));
  return { headRows: headRows.slice(0, numHeadRows), headInverse: inverse, pairRows, pairTargets };
}

function placeTerms(placed: readonly PlacedTree[]) {
  const numTerms = placed.reduce((total, { tree }) => total + tree.terms.length, 0);
  const termPairs = new Int32Array(numTerms);
  const [termWeights, termAdvantages, termLogprobs] = [
    new Float32Array(numTerms),
    new Float32Array(numTerms),
    new Float32Array(numTerms),
  ];
  const termsLeftOut = new Uint8Array(numTerms);
  let [next, firstPair] = [0, 0];
  for (const { tree } of placed) {
    const { pair, weights, advantages, logprobs, kept } = tree.pack.terms;
    const newPairs = new Map(Array.from(tree.pairs, (old, index) => [old, firstPair + index]));
    firstPair += tree.pairs.length;
    for (const term of tree.terms) {
      termPairs[next] = newPairs.get(at(pair, term)) ?? -1;
      termsLeftOut[next] = kept?.set[term] === outsideOfSet ? 1 : 0;
      termWeights[next] = termsLeftOut[next] === 1 ? 0 : at(weights, term);
      termAdvantages[next] = at(advantages, term);
      termLogprobs[next++] = at(logprobs, term);
    }
  }
  return { termPairs, termWeights, termAdvantages, termLogprobs, termsLeftOut };
}

/** Returns an element. checkPack has checked that it exists. */
function at(array: Int32Array | Float32Array, index: number): number {
  return array[index] as number;
}
