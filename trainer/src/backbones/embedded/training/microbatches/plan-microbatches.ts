/**
 * Arranges trees of different sizes into micro-batches, each a grid of rows of one length.
 *
 * A small tree is placed inside one row, next to trees of similar size, because the cost of attention grows with the
 * square of the row length. Smaller trees fill the ends of rows, which would otherwise be padding. A large tree with
 * many branches is cut into several rows. Each of these rows also reads the path from the root to its first token, and
 * the path is far shorter than the tree.
 */

import type { PackTree } from './trees-of-pack.js';

/** Token i of the tree is at start + i - tree.start of the grid. */
export type PlacedTree = { readonly tree: PackTree; readonly start: number };

export type Microbatch = {
  readonly numRows: number;
  /** Tokens per row. */
  readonly rowLength: number;
  readonly trees: readonly PlacedTree[];
  /** True if trees are cut into several rows, which read the path to their first token. */
  readonly hasPaths: boolean;
  /** The number of keys to which a token attends, its row and its path. */
  readonly numKeys: number;
};

export type MicrobatchLimits = {
  /**
   * Returns the maximum number of tokens, padding included, if each token attends to this many keys. A larger tree gets
   * a separate micro-batch.
   */
  readonly maxTokens: (numKeys: number) => number;
  /**
   * Returns the maximum number of tokens whose values are kept for the backward pass. A larger micro-batch keeps the
   * states between layers and computes each layer again. This changes no result.
   */
  readonly maxKeptTokens: (numKeys: number) => number;
  /** A micro-batch with fewer tokens than this also takes trees that are much smaller than its rows. */
  readonly fewTokens: number;
  /** The row lengths to choose from if trees cross rows. */
  readonly pathRowLengths: readonly number[];
  /** The cost for a row to read one token of its path, as a number of keys to which one query attends. */
  readonly pathReadCost: number;
};

/** Returns the layout of one tree. `depth` is the number of tokens of its longest path. */
export function gridOfTree(
  { size, depth }: { readonly size: number; readonly depth: number },
  limits: MicrobatchLimits,
): { readonly numRows: number; readonly rowLength: number; readonly numKeys: number } {
  const rowLength = pathRowLength(depth, limits);
  if (pathCost(depth, rowLength, limits) >= size) return { numRows: 1, rowLength: size, numKeys: size };
  return { numRows: Math.ceil(size / rowLength), rowLength, numKeys: depth + rowLength };
}

export function planMicrobatches(trees: readonly PackTree[], limits: MicrobatchLimits): readonly Microbatch[] {
  const isLarge = (tree: PackTree): boolean =>
    pathCost(tree.depth, pathRowLength(tree.depth, limits), limits) < sizeOf(tree);
  const large = trees.filter(isLarge).toSorted((left, right) => right.depth - left.depth);
  const small = trees.filter((tree) => !isLarge(tree)).toSorted((left, right) => sizeOf(right) - sizeOf(left));
  const microbatches: Microbatch[] = [];
  while (large.length > 0) microbatches.push(takeAcrossRows(large, limits));
  while (small.length > 0) microbatches.push(takeInsideRows(small, limits));
  return microbatches;
}

/**
 * Returns the cost of attention per token, as a number of keys: the row, the path, and reading the path once per row.
 */
function pathCost(depth: number, rowLength: number, { pathReadCost }: MicrobatchLimits): number {
  return rowLength + depth + (pathReadCost * depth) / rowLength;
}

function pathRowLength(depth: number, limits: MicrobatchLimits): number {
  const costs = limits.pathRowLengths.map((rowLength) => pathCost(depth, rowLength, limits));
  return limits.pathRowLengths[costs.indexOf(Math.min(...costs))] ?? 1;
}

/** Removes the trees that it takes from `remaining`, which is sorted by falling depth. */
function takeAcrossRows(remaining: PackTree[], limits: MicrobatchLimits): Microbatch {
  const depth = remaining[0]?.depth ?? 0;
  const rowLength = pathRowLength(depth, limits);
  const most = limits.maxTokens(depth + rowLength);
  const trees: PlacedTree[] = [];
  let numTokens = 0;
  while (remaining.length > 0 && (trees.length === 0 || numTokens + sizeOf(remaining[0]) <= most)) {
    for (const tree of remaining.splice(0, 1)) {
      trees.push({ tree, start: numTokens });
      numTokens += sizeOf(tree);
    }
  }
  return { numRows: Math.ceil(numTokens / rowLength), rowLength, trees, hasPaths: true, numKeys: depth + rowLength };
}

/** Removes the trees that it takes from `remaining`, which is sorted by falling size. */
function takeInsideRows(remaining: PackTree[], { maxTokens, fewTokens }: MicrobatchLimits): Microbatch {
  const rowLength = sizeOf(remaining[0]);
  const trees: PlacedTree[] = [];
  let numRows = 0;
  while (remaining.length > 0) {
    const numTokens = numRows * rowLength;
    const isMuchSmaller = sizeOf(remaining[0]) <= rowLength / 2;
    if (numRows > 0 && (numTokens + rowLength > maxTokens(rowLength) || (isMuchSmaller && numTokens >= fewTokens)))
      break;
    trees.push(...takeRow(remaining, { start: numTokens, length: rowLength }));
    numRows++;
  }
  return { numRows, rowLength, trees, hasPaths: false, numKeys: rowLength };
}

/** Repeatedly takes the largest tree that still fits. */
function takeRow(
  remaining: PackTree[],
  row: { readonly start: number; readonly length: number },
): readonly PlacedTree[] {
  const trees: PlacedTree[] = [];
  let used = 0;
  for (
    let at = firstFitting(remaining, row.length);
    at < remaining.length;
    at = firstFitting(remaining, row.length - used)
  ) {
    for (const tree of remaining.splice(at, 1)) {
      trees.push({ tree, start: row.start + used });
      used += sizeOf(tree);
    }
  }
  return trees;
}

/** Searches falling sizes by bisection. */
function firstFitting(trees: readonly PackTree[], size: number): number {
  let [low, high] = [0, trees.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (sizeOf(trees[middle]) > size) low = middle + 1;
    else high = middle;
  }
  return low;
}

function sizeOf(tree: PackTree | undefined): number {
  return tree === undefined ? 0 : tree.end - tree.start;
}
