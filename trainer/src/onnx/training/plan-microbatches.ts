/**
 * Arranges trees of different sizes into micro-batches: grids of rows of one length, each row holding one or more
 * trees. Attention costs row length squared, so trees run beside trees of their own size; small ones fill the ends
 * of rows that would be padding.
 */

import type { Tree } from './trees-of-pack.js';

export type Microbatch = {
  /** Tokens per row. */
  readonly rowLength: number;
  /** Trees of each row, side by side from its start. */
  readonly rows: readonly (readonly Tree[])[];
};

export type MicrobatchLimits = {
  /** Tokens with padding, given their row length; a larger tree gets a micro-batch of its own. */
  readonly maxTokens: (rowLength: number) => number;
  /** Below this many tokens a micro-batch takes trees that are much smaller than its rows, too. */
  readonly fewTokens: number;
};

export function planMicrobatches(trees: readonly Tree[], limits: MicrobatchLimits): readonly Microbatch[] {
  const remaining = trees.toSorted((left, right) => sizeOf(right) - sizeOf(left));
  const microbatches: Microbatch[] = [];
  while (remaining.length > 0) microbatches.push(takeMicrobatch(remaining, limits));
  return microbatches;
}

/** Removes from `remaining`, which is sorted by falling size, what it takes. */
function takeMicrobatch(remaining: Tree[], { maxTokens, fewTokens }: MicrobatchLimits): Microbatch {
  const rowLength = sizeOf(remaining[0]);
  const rows: Tree[][] = [];
  while (remaining.length > 0) {
    const tokens = rows.length * rowLength;
    const isMuchSmaller = sizeOf(remaining[0]) <= rowLength / 2;
    if (rows.length > 0 && (tokens + rowLength > maxTokens(rowLength) || (isMuchSmaller && tokens >= fewTokens))) break;
    rows.push(takeRow(remaining, rowLength));
  }
  return { rowLength, rows };
}

/** The largest tree that still fits, again and again. */
function takeRow(remaining: Tree[], rowLength: number): Tree[] {
  const row: Tree[] = [];
  let free = rowLength;
  for (let at = firstFitting(remaining, free); at < remaining.length; at = firstFitting(remaining, free)) {
    const [tree] = remaining.splice(at, 1);
    if (tree === undefined) break;
    row.push(tree);
    free -= sizeOf(tree);
  }
  return row;
}

/** Binary search in falling sizes. */
function firstFitting(trees: readonly Tree[], size: number): number {
  let [low, high] = [0, trees.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (sizeOf(trees[middle]) > size) low = middle + 1;
    else high = middle;
  }
  return low;
}

function sizeOf(tree: Tree | undefined): number {
  return tree === undefined ? 0 : tree.end - tree.start;
}
