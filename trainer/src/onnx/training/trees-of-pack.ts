/** Takes packs apart into their trees, so that small trees of many packs can run side by side. */

import type { TreePack } from '@agentjet/core';

/** One root's tokens [start, end) of a pack, with what is supervised there. */
export type Tree = {
  readonly pack: TreePack;
  readonly start: number;
  readonly end: number;
  /** Indices into the pack's predictors and targets. */
  readonly pairs: readonly number[];
  /** Indices into the pack's terms. */
  readonly terms: readonly number[];
};

/** Trees that supervise something; the others, padding among them, would have no gradient. */
export function treesOfPack(pack: TreePack): readonly Tree[] {
  const roots = rootOfEachToken(pack.ends);
  const pairRoots = Array.from(pack.predictors, (predictor) => roots[predictor] ?? -1);
  const pairs = groupIndices(pairRoots);
  const terms = groupIndices(Array.from(pack.terms.pair, (pair) => pairRoots[pair] ?? -1));
  return [...pairs].map(([start, treePairs]) => ({ pack, start, end: rootEnd(roots, start), pairs: treePairs, terms: terms.get(start) ?? [] }));
}

/** Subtrees follow one another: a token at or beyond the reach of every earlier one is a root. */
function rootOfEachToken(ends: Int32Array): Int32Array {
  const roots = new Int32Array(ends.length);
  let [root, reach] = [0, 0];
  for (const [index, end] of ends.entries()) {
    if (index >= reach) root = index;
    reach = Math.max(reach, end);
    roots[index] = root;
  }
  return roots;
}

/** Tokens of one root stand together. */
function rootEnd(roots: Int32Array, root: number): number {
  let end = root + 1;
  while (roots[end] === root) end++;
  return end;
}

function groupIndices(keys: readonly number[]): Map<number, number[]> {
  const groups = new Map<number, number[]>();
  for (const [index, key] of keys.entries()) {
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [index]);
    else group.push(index);
  }
  return groups;
}
