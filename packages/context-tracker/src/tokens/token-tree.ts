import { IdBuffer } from './id-buffer.js';

/**
 * The token ids of one episode as a compressed trie, which holds everything in the model's context once. It contains
 * ids, but no messages. Two paths share a token if and only if their ids are equal up to and including this token.
 */

/** A run of ids between two branches. Later insertions split and lengthen segments; `TokenPosition` is not affected. */
export type TreeSegment = {
  parent: TreeSegment | undefined;
  /** Number of ids from the root up to this segment. */
  start: number;
  /** Number of ids from the root up to the end of this segment. */
  end: number;
  /**
   * Holds the id of depth d at index d - base. With base 0 it holds the whole path, so that prompts can be views of it.
   */
  buffer: IdBuffer;
  base: number;
  /** Children by their first id. */
  readonly children: Map<number, TreeSegment>;
};

/** The first `depth` ids on the way from the root to the end of `segment`. It stays valid after later insertions. */
export type TokenPosition = { readonly segment: TreeSegment; readonly depth: number };

export class TokenTree {
  readonly root: TokenPosition = {
    segment: { parent: undefined, start: 0, end: 0, buffer: new IdBuffer(0), base: 0, children: new Map() },
    depth: 0,
  };
  #idBits = 0;

  /** Contains every bit that is set in any id of the tree. */
  get idBits(): number {
    return this.#idBits;
  }

  /** Writes `ids` after `from`, sharing ids that are already there, and returns the end. */
  insert(from: TokenPosition, ids: Int32Array): TokenPosition {
    const { position, matched } = follow(from, ids);
    if (matched === ids.length) return position;
    const branch = endAt(position);
    const added = ids.subarray(matched);
    for (const id of added) this.#idBits |= id;
    const leaf =
      branch.children.size > 0 || branch.parent === undefined ? addLeaf(branch, added) : appendTo(branch, added);
    return { segment: leaf, depth: leaf.end };
  }

  /** Returns how many of `ids` are already after `from`. */
  match(from: TokenPosition, ids: Int32Array): number {
    return follow(from, ids).matched;
  }
}

/** Shape [end - start]. */
export function idsOf({ buffer, base, start, end }: TreeSegment): Int32Array {
  return buffer.view(start - base, end - base);
}

/** Shape [depth]. It is a view if the path is in one piece. */
export function readPath(position: TokenPosition): Int32Array {
  const { buffer, base } = segmentAt(position);
  return base === 0 ? buffer.view(0, position.depth) : copyPath(position, 0);
}

/** Shape [depth + N]: the path followed by new ids, which are not written into the tree. */
export function readPathWith(position: TokenPosition, ids: Int32Array): Int32Array {
  if (position.depth === 0) return ids;
  const segment = segmentAt(position);
  if (segment.base === 0) {
    let result = segment.buffer.write(position.depth, ids);
    if (result === 'full' && isLeafEnd(segment, position.depth)) {
      growBuffer(segment, ids.length);
      result = segment.buffer.write(position.depth, ids);
    }
    if (result === 'written') return segment.buffer.view(0, position.depth + ids.length);
  }
  const path = copyPath(position, ids.length);
  path.set(ids, position.depth);
  return path;
}

/** Returns the segment that now holds the position's last id. */
export function segmentAt({ segment, depth }: TokenPosition): TreeSegment {
  let current = segment;
  while (current.parent !== undefined && depth <= current.start) current = current.parent;
  return current;
}

/** Shape [depth + room]: the path, then zeros. */
function copyPath(position: TokenPosition, room: number): Int32Array {
  const path = new Int32Array(position.depth + room);
  let end = position.depth;
  for (
    let segment: TreeSegment | undefined = segmentAt(position);
    segment !== undefined && end > 0;
    segment = segment.parent
  ) {
    const start = segment.base === 0 ? 0 : segment.start;
    path.set(segment.buffer.view(start - segment.base, end - segment.base), start);
    end = start;
  }
  return path;
}

function follow(from: TokenPosition, ids: Int32Array): { readonly position: TokenPosition; readonly matched: number } {
  let segment = segmentAt(from);
  let { depth } = from;
  let matched = 0;
  while (matched < ids.length) {
    if (depth === segment.end) {
      const child = segment.children.get(ids[matched] ?? -1);
      if (child === undefined) break;
      segment = child;
    }
    const length = commonLength(segment.buffer.view(depth - segment.base, segment.end - segment.base), ids, matched);
    depth += length;
    matched += length;
    if (depth < segment.end) break;
  }
  return { position: { segment, depth }, matched };
}

function commonLength(left: Int32Array, right: Int32Array, rightStart: number): number {
  const limit = Math.min(left.length, right.length - rightStart);
  let length = 0;
  while (length < limit && left[length] === right[rightStart + length]) length++;
  return length;
}

/**
 * Returns the segment that ends exactly at the position, and splits one if necessary. The lower part keeps its object.
 */
function endAt({ segment, depth }: TokenPosition): TreeSegment {
  if (segment.end === depth) return segment;
  const { parent, start, buffer, base } = segment;
  const upper: TreeSegment = { parent, start, end: depth, buffer, base, children: new Map() };
  parent?.children.set(firstIdOf(upper), upper);
  segment.parent = upper;
  segment.start = depth;
  upper.children.set(firstIdOf(segment), segment);
  return upper;
}

function firstIdOf(segment: TreeSegment): number {
  return idsOf(segment)[0] ?? -1;
}

/**
 * Adds the ids as a leaf with a new buffer. If the path above is not longer than the ids, the buffer also gets a copy
 * of the path. The limit ensures that the copy at most doubles the cost.
 */
function addLeaf(parent: TreeSegment, ids: Int32Array): TreeSegment {
  const depth = parent.end;
  const isWhole = depth <= ids.length;
  const buffer = new IdBuffer(ids.length + (isWhole ? depth : 0));
  if (isWhole) buffer.write(0, readPath({ segment: parent, depth }));
  const leaf: TreeSegment = {
    parent,
    start: depth,
    end: depth + ids.length,
    buffer,
    base: isWhole ? 0 : depth,
    children: new Map(),
  };
  buffer.write(depth - leaf.base, ids);
  parent.children.set(ids[0] ?? -1, leaf);
  return leaf;
}

/** Appends ids to a leaf. A growing conversation thus stays one segment, so that its prompts are read in one piece. */
function appendTo(leaf: TreeSegment, ids: Int32Array): TreeSegment {
  if (leaf.buffer.write(leaf.end - leaf.base, ids) !== 'written') {
    growBuffer(leaf, ids.length);
    leaf.buffer.write(leaf.end - leaf.base, ids);
  }
  leaf.end += ids.length;
  return leaf;
}

function isLeafEnd(segment: TreeSegment, depth: number): boolean {
  return segment.end === depth && segment.children.size === 0;
}

/** Makes a new buffer with more room. Views of the old buffer stay unchanged. */
function growBuffer(leaf: TreeSegment, numNew: number): void {
  const base = leaf.start <= leaf.end - leaf.start ? 0 : leaf.base;
  const ids =
    base === leaf.base ? leaf.buffer.view(0, leaf.end - base) : copyPath({ segment: leaf, depth: leaf.end }, 0);
  const buffer = new IdBuffer(Math.ceil((ids.length + numNew) * growth));
  buffer.write(0, ids);
  leaf.buffer = buffer;
  leaf.base = base;
}

const growth = 1.5;
