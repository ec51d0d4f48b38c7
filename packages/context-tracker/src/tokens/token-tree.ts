/**
 * The token ids of one episode as a compressed trie: whatever was in the model's context stands here once. It knows
 * ids and nothing of messages. Two paths share a token iff their ids are equal up to and including it.
 */

/** A run of ids between two branches. Segments are split by later insertions; `TokenPosition` is not affected. */
export type Segment = {
  parent: Segment | undefined;
  /** Shape [L]. */
  ids: Int32Array;
  /** Number of ids from the root up to and including this segment. */
  readonly end: number;
  /** By the first id of the child. */
  readonly children: Map<number, Segment>;
};

/** The first `depth` ids on the way from the root to the end of `segment`. Stays true whatever is inserted later. */
export type TokenPosition = { readonly segment: Segment; readonly depth: number };

export class TokenTree {
  readonly root: TokenPosition = { segment: { parent: undefined, ids: new Int32Array(0), end: 0, children: new Map() }, depth: 0 };

  /** Writes `ids` (which the tree keeps) after `from`, sharing what already stands there; returns the end. */
  insert(from: TokenPosition, ids: Int32Array): TokenPosition {
    const { position, matched } = follow(from, ids);
    if (matched === ids.length) return position;
    const branch = endAt(position);
    const leaf: Segment = { parent: branch, ids: ids.subarray(matched), end: position.depth + ids.length - matched, children: new Map() };
    branch.children.set(leaf.ids[0] ?? -1, leaf);
    return { segment: leaf, depth: leaf.end };
  }

  /** How many of `ids` already stand after `from`. */
  match(from: TokenPosition, ids: Int32Array): number {
    return follow(from, ids).matched;
  }
}

/** Shape [depth + room]: the ids up to `position`, then `room` zeros. */
export function readPath(position: TokenPosition, room = 0): Int32Array {
  const path = new Int32Array(position.depth + room);
  for (let segment: Segment | undefined = position.segment; segment !== undefined; segment = segment.parent) {
    const start = segment.end - segment.ids.length;
    if (start < position.depth) path.set(segment.end <= position.depth ? segment.ids : segment.ids.subarray(0, position.depth - start), start);
  }
  return path;
}

/** The segment in which the position's last id stands by now. */
export function segmentAt({ segment, depth }: TokenPosition): Segment {
  let current = segment;
  while (current.parent !== undefined && depth <= current.end - current.ids.length) current = current.parent;
  return current;
}

function follow(from: TokenPosition, ids: Int32Array): { readonly position: TokenPosition; readonly matched: number } {
  let segment = segmentAt(from);
  let offset = from.depth - (segment.end - segment.ids.length);
  let matched = 0;
  while (matched < ids.length) {
    if (offset === segment.ids.length) {
      const child = segment.children.get(ids[matched] ?? -1);
      if (child === undefined) break;
      segment = child;
      offset = 0;
    }
    const length = commonLength(segment.ids, offset, ids, matched);
    offset += length;
    matched += length;
    if (offset < segment.ids.length) break;
  }
  return { position: { segment, depth: from.depth + matched }, matched };
}

function commonLength(left: Int32Array, leftStart: number, right: Int32Array, rightStart: number): number {
  const limit = Math.min(left.length - leftStart, right.length - rightStart);
  let length = 0;
  while (length < limit && left[leftStart + length] === right[rightStart + length]) length++;
  return length;
}

/** The segment that ends exactly at the position; splits one where it must. The lower part stays the object it was. */
function endAt({ segment, depth }: TokenPosition): Segment {
  if (segment.end === depth) return segment;
  const at = segment.ids.length - (segment.end - depth);
  const upper: Segment = { parent: segment.parent, ids: segment.ids.subarray(0, at), end: depth, children: new Map() };
  upper.parent?.children.set(upper.ids[0] ?? -1, upper);
  segment.ids = segment.ids.subarray(at);
  segment.parent = upper;
  upper.children.set(segment.ids[0] ?? -1, segment);
  return upper;
}
