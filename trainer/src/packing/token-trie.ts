/**
 * A trie over the token rows of one optimizer step, with chains compressed into segments. Two rows share position j if
 * and only if their ids are equal at every position <= j; text is never compared. A segment ends at every branch and at
 * every row end. Building the trie takes time linear in the tokens of the rows.
 */

/** The segment is ids[start..end) of row `row`. Every row that passes through shares it. */
export type Segment = {
  parent: Segment | undefined;
  row: number;
  start: number;
  readonly end: number;
  readonly children: Map<number, Segment>;
  /** The rows whose last token is this segment's last token. */
  readonly endingRows: number[];
  /** The packed index of the first token, in depth-first preorder. `layOut` sets it. */
  offset: number;
  /** The exclusive packed end of the subtree. `layOut` sets it. */
  subtreeEnd: number;
};

function createSegment(parent: Segment | undefined, row: number, start: number, end: number): Segment {
  return { parent, row, start, end, children: new Map(), endingRows: [], offset: 0, subtreeEnd: 0 };
}

export type TrieRows = {
  /** The token ids of each row, ids[row] of shape [T]. */
  readonly ids: readonly Int32Array[];
  /** The number of leading positions of each row that may be shared. Defaults to all. */
  readonly shareLimits?: readonly number[];
};

export class TokenTrie {
  /** The root has no token; its children are the first segments of the rows. */
  readonly root: Segment = createSegment(undefined, -1, 0, 0);
  readonly #rows: TrieRows;
  readonly #lastSegments = new Map<number, Segment>();

  /** `members` lists the rows to insert, in their order. */
  constructor(rows: TrieRows, members: Iterable<number>) {
    this.#rows = rows;
    for (const row of members) this.#insert(row);
  }

  /** Returns the segment that ends with the row's last token. */
  lastSegment(row: number): Segment {
    const segment = this.#lastSegments.get(row);
    if (segment === undefined) throw new Error(`Row ${row} is not in this trie.`);
    return segment;
  }

  /** Returns the segments below the root in depth-first preorder, children in order of insertion. */
  preorder(): Segment[] {
    const order: Segment[] = [];
    const stack = [this.root];
    for (let segment = stack.pop(); segment !== undefined; segment = stack.pop()) {
      if (segment !== this.root) order.push(segment);
      for (const child of [...segment.children.values()].reverse()) stack.push(child);
    }
    return order;
  }

  /** Writes the packed index of each position of the row into `into`; returns the row's length. */
  writePath(row: number, into: Int32Array): number {
    const last = this.lastSegment(row);
    for (let segment: Segment | undefined = last; segment !== undefined; segment = segment.parent) {
      for (let depth = segment.start; depth < segment.end; depth++)
        into[depth] = segment.offset + depth - segment.start;
    }
    return last.end;
  }

  #insert(row: number): void {
    const ids = this.#idsOf(row);
    const limit = Math.min(this.#rows.shareLimits?.[row] ?? ids.length, ids.length);
    const shared = this.#descend(row, ids, limit);
    // A negative key is not a token id, so no other row shares the segments after the limit of this row.
    const last =
      limit === ids.length ? shared : this.#append(shared, -1 - row, createSegment(shared, row, limit, ids.length));
    last.endingRows.push(row);
    this.#lastSegments.set(row, last);
  }

  /** Returns the segment that ends at depth `limit` of the row. Adds the segments before it that do not exist yet. */
  #descend(row: number, ids: Int32Array, limit: number): Segment {
    let segment = this.root;
    for (let depth = 0; depth < limit; depth = segment.end) {
      const key = ids[depth] as number;
      const child = segment.children.get(key);
      if (child === undefined) return this.#append(segment, key, createSegment(segment, row, depth, limit));
      const end = this.#firstDifference(child, ids, limit);
      segment = end === child.end ? child : this.#split(segment, child, end);
    }
    return segment;
  }

  #append(parent: Segment, key: number, segment: Segment): Segment {
    parent.children.set(key, segment);
    return segment;
  }

  #firstDifference(child: Segment, ids: Int32Array, limit: number): number {
    const other = this.#idsOf(child.row);
    const end = Math.min(child.end, limit);
    let depth = child.start + 1;
    while (depth < end && other[depth] === ids[depth]) depth++;
    return depth;
  }

  /** Cuts `child` at depth `at`. Returns the new upper segment, which replaces the child under `parent`. */
  #split(parent: Segment, child: Segment, at: number): Segment {
    const ids = this.#idsOf(child.row);
    const upper = createSegment(parent, child.row, child.start, at);
    parent.children.set(ids[child.start] as number, upper);
    upper.children.set(ids[at] as number, child);
    child.parent = upper;
    child.start = at;
    return upper;
  }

  #idsOf(row: number): Int32Array {
    const ids = this.#rows.ids[row];
    if (ids === undefined) throw new Error(`There is no row ${row}.`);
    return ids;
  }
}

/** Sets `offset` and `subtreeEnd` of every segment, starting at packed index `base`. Returns the exclusive end. */
export function layOut(segments: readonly Segment[], base: number): number {
  let next = base;
  for (const segment of segments) {
    segment.offset = next;
    next += segment.end - segment.start;
    segment.subtreeEnd = next;
  }
  for (let index = segments.length - 1; index >= 0; index--) {
    const segment = segments[index];
    if (segment?.parent) segment.parent.subtreeEnd = Math.max(segment.parent.subtreeEnd, segment.subtreeEnd);
  }
  return next;
}
