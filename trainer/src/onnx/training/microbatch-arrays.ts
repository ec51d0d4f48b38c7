/** Writes a micro-batch as the arrays that the graphs take. */

import type { Microbatch } from './plan-microbatches.js';
import type { Tree } from './trees-of-pack.js';

/** Tokens n = row * T + t, N = B * T; U predicting tokens, M pairs, K terms: see sequence-inputs.ts and training-graph.ts. */
export type MicrobatchArrays = {
  readonly numRows: number;
  readonly rowLength: number;
  readonly ids: Int32Array;
  readonly positions: Int32Array;
  /** Shape [N]: exclusive end of what sees the token, counted within its row. */
  readonly ends: Int32Array;
  readonly headRows: Int32Array;
  readonly headInverse: Int32Array;
  readonly pairRows: Int32Array;
  readonly pairTargets: Int32Array;
  readonly termPairs: Int32Array;
  readonly termWeights: Float32Array;
  readonly termAdvantages: Float32Array;
  readonly termLogprobs: Float32Array;
};

/** A tree and the token at which it stands. */
type Placed = { readonly tree: Tree; readonly start: number };

export function microbatchArrays({ rows, rowLength }: Microbatch): MicrobatchArrays {
  const placed = rows.flatMap((row, index) => placeRow(row, index * rowLength));
  const tokens = placeTokens(placed, rows.length, rowLength);
  return { numRows: rows.length, rowLength, ...tokens, ...placePairs(placed, rows.length * rowLength), ...placeTerms(placed) };
}

function placeRow(row: readonly Tree[], rowStart: number): readonly Placed[] {
  let start = rowStart;
  return row.map((tree) => {
    const placed = { tree, start };
    start += tree.end - tree.start;
    return placed;
  });
}

/** Padding is a token 0 at position 0 that only itself sees. */
function placeTokens(placed: readonly Placed[], numRows: number, rowLength: number) {
  const [ids, positions] = [new Int32Array(numRows * rowLength), new Int32Array(numRows * rowLength)];
  const ends = Int32Array.from(ids, (_, token) => (token % rowLength) + 1);
  for (const { tree, start } of placed) {
    ids.set(tree.pack.ids.subarray(tree.start, tree.end), start);
    positions.set(tree.pack.positions.subarray(tree.start, tree.end), start);
    const shift = (start % rowLength) - tree.start;
    ends.set(tree.pack.ends.subarray(tree.start, tree.end).map((end) => end + shift), start);
  }
  return { ids, positions, ends };
}

function placePairs(placed: readonly Placed[], numTokens: number) {
  const predictors = placed.flatMap(({ tree, start }) => tree.pairs.map((pair) => at(tree.pack.predictors, pair) - tree.start + start));
  const headRows = Int32Array.from(new Set(predictors));
  const headInverse = new Int32Array(numTokens).fill(headRows.length);
  headRows.forEach((token, row) => (headInverse[token] = row));
  return {
    headRows,
    headInverse,
    pairRows: Int32Array.from(predictors, (token) => at(headInverse, token)),
    pairTargets: Int32Array.from(placed.flatMap(({ tree }) => tree.pairs.map((pair) => at(tree.pack.targets, pair)))),
  };
}

function placeTerms(placed: readonly Placed[]) {
  const collect = (values: (tree: Tree) => Float32Array) => Float32Array.from(placed.flatMap(({ tree }) => tree.terms.map((term) => at(values(tree), term))));
  return {
    termPairs: placeTermPairs(placed),
    termWeights: collect((tree) => tree.pack.terms.weights),
    termAdvantages: collect((tree) => tree.pack.terms.advantages),
    termLogprobs: collect((tree) => tree.pack.terms.logprobs),
  };
}

function placeTermPairs(placed: readonly Placed[]): Int32Array {
  let firstPair = 0;
  return Int32Array.from(placed.flatMap(({ tree }) => {
    const newIndex = new Map(tree.pairs.map((pair, index) => [pair, firstPair + index]));
    firstPair += tree.pairs.length;
    return tree.terms.map((term) => newIndex.get(at(tree.pack.terms.pair, term)) ?? -1);
  }));
}

/** An element that checkPack has found to be there. */
function at(array: Int32Array | Float32Array, index: number): number {
  return array[index] as number;
}
