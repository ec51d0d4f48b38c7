/**
 * Keeps keys and values of earlier prompts and answers. A longer conversation, or another call with the same prompt,
 * then does not compute them again. It is a radix tree over token ids: each node holds a run of tokens and their keys
 * and values. Its size is limited in bytes, and it evicts the least recently used leaf first. Its values belong to one
 * version of the weights, so clear the cache when the weights change.
 */

import type { KvSegment } from './kv-batch.js';
import type { KvShape } from './step-model.js';
import { kvBytesPerToken } from './step-model.js';

type Node = {
  parent: Node | null;
  ids: Int32Array;
  kv: KvSegment;
  readonly children: Map<number, Node>;
};

/** Segments that together hold the first `length` tokens, in order. */
export type PrefixMatch = {
  readonly length: number;
  readonly pieces: readonly { readonly kv: KvSegment; readonly count: number }[];
};

export class PrefixCache {
  readonly maxBytes: number;
  readonly #shape: KvShape;
  readonly #root: Node = {
    parent: null,
    ids: new Int32Array(0),
    kv: { values: new Float32Array(0), numTokens: 0 },
    children: new Map(),
  };
  /**
   * Nodes in order of use, oldest first. A path is marked as used from its leaf upwards, so a node always comes after
   * its descendants, and the first node is a leaf.
   */
  readonly #byAge = new Set<Node>();
  #numTokens = 0;

  constructor(shape: KvShape, maxBytes: number) {
    this.#shape = shape;
    this.maxBytes = maxBytes;
  }

  get bytes(): number {
    return this.#numTokens * kvBytesPerToken(this.#shape);
  }

  get numTokens(): number {
    return this.#numTokens;
  }

  /** Returns the longest stored prefix of ids[0, limit). */
  match(ids: Int32Array, limit: number): PrefixMatch {
    const { node, length, inNode } = this.#descend(ids, limit);
    this.#touch(node);
    const pieces: { kv: KvSegment; count: number }[] = [];
    for (let at: Node | null = node; at !== null && at !== this.#root; at = at.parent) {
      pieces.push({ kv: at.kv, count: at === node ? inNode : at.ids.length });
    }
    return { length, pieces: pieces.reverse() };
  }

  /** Returns the length of the longest stored prefix of ids[0, limit), and does not mark it as used. */
  matchLength(ids: Int32Array, limit: number): number {
    return this.#descend(ids, limit).length;
  }

  /** Stores ids[0, end). `read` copies the keys and values of the new tokens [start, end). */
  insert(ids: Int32Array, end: number, read: (start: number, end: number) => KvSegment): void {
    const { node, length, inNode } = this.#descend(ids, end);
    const parent = inNode < node.ids.length ? this.#split(node, inNode) : node;
    this.#touch(parent);
    if (length === end || !this.#makeRoom({ path: end, added: end - length }, parent)) return;
    const leaf: Node = { parent, ids: ids.slice(length, end), kv: read(length, end), children: new Map() };
    parent.children.set(leaf.ids[0] ?? 0, leaf);
    this.#numTokens += leaf.ids.length;
    this.#touch(leaf);
  }

  clear(): void {
    this.#root.children.clear();
    this.#byAge.clear();
    this.#numTokens = 0;
  }

  /**
   * Returns the last node that shares tokens with the ids, the number of these tokens in the node, and the number of
   * shared tokens from the root on.
   */
  #descend(ids: Int32Array, limit: number): { readonly node: Node; readonly length: number; readonly inNode: number } {
    let [node, length, inNode] = [this.#root, 0, 0];
    while (length < limit && inNode === node.ids.length) {
      const child = node.children.get(ids[length] ?? -1);
      if (child === undefined) break;
      inNode = commonLength(child.ids, ids.subarray(length, limit));
      length += inNode;
      node = child;
    }
    return { node, length, inNode };
  }

  #touch(node: Node): void {
    for (let at: Node | null = node; at !== null && at !== this.#root; at = at.parent) {
      this.#byAge.delete(at);
      this.#byAge.add(at);
    }
  }

  /** Cuts a node in two. Returns the upper part, which keeps the first `count` tokens. */
  #split(node: Node, count: number): Node {
    const [upperKv, lowerKv] = this.#cut(node.kv, count);
    const upper: Node = { parent: node.parent, ids: node.ids.slice(0, count), kv: upperKv, children: new Map() };
    node.parent?.children.set(upper.ids[0] ?? 0, upper);
    node.parent = upper;
    node.ids = node.ids.slice(count);
    node.kv = lowerKv;
    upper.children.set(node.ids[0] ?? 0, node);
    return upper;
  }

  #cut(kv: KvSegment, count: number): readonly [KvSegment, KvSegment] {
    const { numLayers, numKvHeads, headDim } = this.#shape;
    const numHeads = 2 * numLayers * numKvHeads;
    const take = (start: number, end: number): KvSegment => {
      const values = new Float32Array(numHeads * (end - start) * headDim);
      for (let head = 0; head < numHeads; head += 1) {
        const from = (head * kv.numTokens + start) * headDim;
        values.set(kv.values.subarray(from, from + (end - start) * headDim), head * (end - start) * headDim);
      }
      return { values, numTokens: end - start };
    };
    return [take(0, count), take(count, kv.numTokens)];
  }

  /** Evicts until `added` more tokens fit. Returns false if a path of `path` tokens is larger than the whole cache. */
  #makeRoom({ path, added }: { readonly path: number; readonly added: number }, parent: Node): boolean {
    const maxTokens = Math.floor(this.maxBytes / kvBytesPerToken(this.#shape));
    if (path > maxTokens) return false;
    while (this.#numTokens + added > maxTokens) {
      const [oldest] = this.#byAge;
      if (oldest === undefined || oldest === parent) return false;
      this.#evict(oldest);
    }
    return true;
  }

  #evict(leaf: Node): void {
    this.#byAge.delete(leaf);
    leaf.parent?.children.delete(leaf.ids[0] ?? 0);
    this.#numTokens -= leaf.ids.length;
  }
}

function commonLength(left: Int32Array, right: Int32Array): number {
  const limit = Math.min(left.length, right.length);
  let length = 0;
  while (length < limit && left[length] === right[length]) length += 1;
  return length;
}
