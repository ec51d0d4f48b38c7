/** Takes packs apart into their trees, so that small trees of many packs can run together. */

import type { TreePack } from '@agentjet/core';

/** A tree of a pack: the tokens [start, end) of one root, and its predictors, targets and terms. */
export type PackTree = {
  readonly pack: TreePack;
  readonly start: number;
  readonly end: number;
  /** The number of tokens on its longest path. */
  readonly depth: number;
  /** Indices into the pack's predictors and targets. */
  readonly pairs: Int32Array;
  /** Indices into the pack's terms. */
  readonly terms: Int32Array;
};

/** Returns the trees with at least one supervised token. Other trees, such as padding, have no gradient. */
export function treesOfPack(pack: TreePack): readonly PackTree[] {
  const starts = treeStarts(pack.ends);
  const treeOfToken = spread(starts, pack.ends.length);
  const treeOfPair = pack.predictors.map((predictor) => treeOfToken[predictor] ?? 0);
  const pairs = groupIndices(treeOfPair, starts.length);
  const terms = groupIndices(
    pack.terms.pair.map((pair) => treeOfPair[pair] ?? 0),
    starts.length,
  );
  return starts.flatMap((start, tree) => {
    const [treePairs, treeTerms] = [pairs[tree] ?? none, terms[tree] ?? none];
    const end = starts[tree + 1] ?? pack.ends.length;
    return treePairs.length === 0
      ? []
      : [{ pack, start, end, depth: depthOf(pack, start, end), pairs: treePairs, terms: treeTerms }];
  });
}

function depthOf({ positions }: TreePack, start: number, end: number): number {
  let deepest = 0;
  for (let token = start; token < end; token++) deepest = Math.max(deepest, positions[token] ?? 0);
  return deepest + 1;
}

const none = new Int32Array(0);

/**
 * Returns the index of each root. Subtrees follow one another, so a token is a root if all earlier subtrees have ended.
 */
function treeStarts(ends: Int32Array): readonly number[] {
  const starts: number[] = [];
  let reach = 0;
  for (let token = 0; token < ends.length; token++) {
    if (token >= reach) starts.push(token);
    reach = Math.max(reach, ends[token] ?? 0);
  }
  return starts;
}

/** Returns the tree of each token. */
function spread(starts: readonly number[], length: number): Int32Array {
  const trees = new Int32Array(length);
  for (const [tree, start] of starts.entries()) trees.fill(tree, start, starts[tree + 1] ?? length);
  return trees;
}

/** Returns the indices of each group, in order. */
function groupIndices(groups: Int32Array, numGroups: number): readonly Int32Array[] {
  const sizes = new Int32Array(numGroups);
  for (const group of groups) sizes[group] = (sizes[group] ?? 0) + 1;
  const members = Array.from(sizes, (size) => new Int32Array(size));
  const filled = new Int32Array(numGroups);
  for (let index = 0; index < groups.length; index++) {
    const group = groups[index] ?? 0;
    const at = filled[group] ?? 0;
    filled[group] = at + 1;
    const list = members[group];
    if (list !== undefined) list[at] = index;
  }
  return members;
}
