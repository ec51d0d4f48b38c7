/**
 * Finds the path from the root to each row's first token, if trees are cut into several rows. The queries of a row see
 * no other token before the row, because the first query sees every earlier token that a later query sees.
 */

export type RootPaths = {
  /** The number of slots of a path, at least 1. Slot s holds the token at depth s. */
  readonly length: number;
  /** The largest number of different tokens that paths read in one slot, at least 1. */
  readonly width: number;
  /** int32 [B, length]: token of the grid in each slot; 0 beyond a path's end. */
  readonly tokens: Int32Array;
  /** Shape [B]: tokens on each path. */
  readonly depths: Int32Array;
  /** int32 [length, B]: index among the slot's tokens of the one that the row reads; -1 beyond a path's end. */
  readonly slots: Int32Array;
  /** int32 [N]: slot * width + count of each token, or length * width for a token that no path reads. */
  readonly places: Int32Array;
};

/** `ends` [N] are exclusive ends of the tokens that see each token, in preorder over the whole grid. */
export function rootPaths(ends: Int32Array, rowLength: number): RootPaths {
  const paths = pathsOfRows(ends, rowLength);
  const length = Math.max(1, ...paths.map((path) => path.length));
  const tokens = new Int32Array(paths.length * length);
  const slots = new Int32Array(paths.length * length).fill(-1);
  const counts = new Int32Array(length);
  const countOf = new Int32Array(ends.length).fill(-1);
  const slotOf = new Int32Array(ends.length);
  for (const [row, path] of paths.entries()) {
    tokens.set(path, row * length);
    for (const [slot, token] of path.entries()) {
      if (countOf[token] === -1) {
        countOf[token] = counts[slot] ?? 0;
        counts[slot] = (counts[slot] ?? 0) + 1;
      }
      slotOf[token] = slot;
      slots[slot * paths.length + row] = countOf[token] ?? -1;
    }
  }
  const width = Math.max(1, ...counts);
  const places = countOf.map((count, token) => (count < 0 ? length * width : (slotOf[token] ?? 0) * width + count));
  return { length, width, tokens, depths: Int32Array.from(paths, (path) => path.length), slots, places };
}

/** Returns, for the start of each row, the roots of the subtrees that have not ended. */
function pathsOfRows(ends: Int32Array, rowLength: number): readonly Int32Array[] {
  const open: number[] = [];
  const paths: Int32Array[] = [];
  for (const [token, end] of ends.entries()) {
    while (open.length > 0 && (ends[open.at(-1) ?? 0] ?? 0) <= token) open.pop();
    if (token % rowLength === 0) paths.push(Int32Array.from(open));
    if (end > token) open.push(token);
  }
  return paths;
}
