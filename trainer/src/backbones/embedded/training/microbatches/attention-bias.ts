/** Writes the additive mask of a grid of trees. */

import type { FloatArray } from '../optimizer/optimizer-memory.js';
import type { RootPaths } from './root-paths.js';

/**
 * The bias of a hidden key. It is finite and so far below any score that its exponential is exactly 0, in single and
 * double precision.
 */
const hidden = -1e9;

export type Grid = {
  readonly rowLength: number;
  /** Shape [N]: exclusive end of the tokens that see the token, over the whole grid. */
  readonly ends: Int32Array;
  readonly paths: RootPaths | undefined;
};

/** Counts the keys of each query: the slots of the row's path, then the row itself. */
export function keysPerRow({ rowLength, paths }: Grid): number {
  return rowLength + (paths?.length ?? 0);
}

/**
 * Fills `into`, shape [B, 1, rowLength, keysPerRow], with 0 if query q sees key k (k <= q < ends[k]) and with a very
 * negative number otherwise.
 */
export function writeAttentionBias(grid: Grid, into: FloatArray): void {
  const square = grid.rowLength * keysPerRow(grid);
  for (let row = 0; row * grid.rowLength < grid.ends.length; row++)
    writeRow(grid, row, into.subarray(row * square, (row + 1) * square));
}

/**
 * Writes the bias of one row. Subtrees are nested, so each query sees itself and all tokens that the previous query
 * saw, except those of subtrees that have ended.
 */
function writeRow(grid: Grid, row: number, into: FloatArray): void {
  const { rowLength, ends } = grid;
  const numKeys = keysPerRow(grid);
  const open = startOfRow(grid, row);
  into.fill(hidden, 0, numKeys);
  for (const { slot } of open) into[slot] = 0;
  for (let query = 0; query < rowLength; query++) {
    const [token, start] = [row * rowLength + query, query * numKeys];
    if (query > 0) into.copyWithin(start, start - numKeys, start);
    for (let last = open.at(-1); last !== undefined && last.end <= token; last = open.at(-1)) {
      into[start + last.slot] = hidden;
      open.pop();
    }
    const slot = numKeys - rowLength + query;
    into[start + slot] = 0;
    open.push({ slot, end: ends[token] ?? 0 });
  }
}

/**
 * Marks the tokens of the path. They are the roots of the subtrees that have not ended, from the outermost to the
 * innermost.
 */
function startOfRow({ ends, paths }: Grid, row: number): { readonly slot: number; readonly end: number }[] {
  if (paths === undefined) return [];
  const path = paths.tokens.subarray(row * paths.length, row * paths.length + (paths.depths[row] ?? 0));
  return Array.from(path, (token, slot) => ({ slot, end: ends[token] ?? 0 }));
}
