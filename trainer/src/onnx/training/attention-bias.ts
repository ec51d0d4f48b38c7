/** The additive mask of a grid of trees. */

import type { FloatArray } from '../optimizer/optimizer-memory.js';

/** Far below any score, yet finite: its exponential is exactly 0 in both precisions. */
const hidden = -1e9;

/**
 * Fills `into`, shape [B, 1, T, T], with 0 where query q sees key k (k <= q < ends[k]) and a very negative number
 * elsewhere. `ends` has shape [B * T] and counts within the row.
 */
export function writeAttentionBias(ends: Int32Array, rowLength: number, into: FloatArray): void {
  const square = rowLength * rowLength;
  for (let row = 0; row * rowLength < ends.length; row++) {
    const rowEnds = ends.subarray(row * rowLength, (row + 1) * rowLength);
    writeRow(rowEnds, into.subarray(row * square, (row + 1) * square));
  }
}

/** Subtrees nest, so each query sees what the one before it saw, less the subtrees that ended, and itself. */
function writeRow(ends: Int32Array, into: FloatArray): void {
  const open: number[] = [];
  into.fill(hidden, 0, ends.length);
  for (const [query, end] of ends.entries()) {
    const start = query * ends.length;
    if (query > 0) into.copyWithin(start, start - ends.length, start);
    for (let key = open.at(-1); key !== undefined && (ends[key] ?? 0) <= query; key = open.at(-1)) {
      into[start + key] = hidden;
      open.pop();
    }
    into[start + query] = 0;
    if (end > query) open.push(query);
  }
}
