import type { Sample, TreePack } from '@agentjet/core';
import type { Supervision } from './supervision.js';
import { layOut, TokenTrie, type Segment, type TrieRows } from './token-trie.js';

/** One tree of a pack, laid out in preorder from `start` on. */
export type Tree = {
  readonly rows: readonly number[];
  readonly tokens: number;
  readonly trie: TokenTrie;
  readonly segments: readonly Segment[];
};

export function createTree(rows: TrieRows, members: readonly number[]): Tree {
  const trie = new TokenTrie(rows, members);
  const segments = trie.preorder();
  return { rows: members, tokens: layOut(segments, 0), trie, segments };
}

/** A pack, and the packed index of the last token of each of its rows. */
export type WrittenPack = { readonly pack: TreePack; readonly lastIndices: ReadonlyMap<number, number> };

type TokenArrays = { readonly ids: Int32Array; readonly positions: Int32Array; readonly ends: Int32Array };

/** Writes trees one after the other. */
export function writePack(samples: readonly Sample[], supervision: Supervision, trees: readonly Tree[]): WrittenPack {
  const tokens = writeTokens(samples, trees);
  const { pairs, terms } = writeLoss(samples, supervision, trees, tokens.ids);
  const rows = trees.flatMap((tree) => tree.rows);
  const rowTokens = rows.reduce((sum, row) => sum + (samples[row]?.ids.length ?? 0), 0);
  const lastIndices = new Map(
    trees.flatMap(({ rows: members, trie }) => members.map((row) => [row, lastIndex(trie.lastSegment(row))] as const)),
  );
  return { pack: { ...tokens, ...pairs, terms, rowTokens }, lastIndices };
}

function lastIndex(segment: Segment): number {
  return segment.offset + segment.end - segment.start - 1;
}

function writeTokens(samples: readonly Sample[], trees: readonly Tree[]): TokenArrays {
  const length = trees.reduce((base, tree) => layOut(tree.segments, base), 0);
  const arrays = { ids: new Int32Array(length), positions: new Int32Array(length), ends: new Int32Array(length) };
  for (const segment of trees.flatMap((tree) => tree.segments)) {
    const end = segment.offset + segment.end - segment.start;
    arrays.ids.set(samples[segment.row]?.ids.subarray(segment.start, segment.end) ?? [], segment.offset);
    arrays.ends.fill(segment.subtreeEnd, segment.offset, end);
    for (let index = segment.offset; index < end; index++)
      arrays.positions[index] = segment.start + index - segment.offset;
  }
  return arrays;
}

/**
 * Writes predictors, targets and terms. In a trie every token except a root has one predictor, so each supervised token
 * is one (predictor, target) pair. Pairs are in the order of the tokens.
 */
function writeLoss(samples: readonly Sample[], supervision: Supervision, trees: readonly Tree[], ids: Int32Array) {
  const numTerms = trees
    .flatMap((tree) => tree.rows)
    .reduce((sum, row) => sum + (supervision.positions[row]?.length ?? 0), 0);
  const terms = {
    pair: new Int32Array(numTerms),
    sequence: new Int32Array(numTerms),
    weights: new Float32Array(numTerms),
    advantages: new Float32Array(numTerms),
    logprobs: new Float32Array(numTerms),
    ...(samples.some(({ temperatures }) => temperatures !== undefined) && {
      temperatures: new Float32Array(numTerms),
    }),
  };
  const predictorOf = new Int32Array(ids.length).fill(-1);
  const path = new Int32Array(ids.length);
  let next = 0;
  for (const { rows, trie } of trees) {
    for (const row of rows) {
      const sample = samples[row];
      const positions = supervision.positions[row];
      if (sample === undefined || positions === undefined) continue;
      trie.writePath(row, path);
      terms.sequence.fill(row, next, next + positions.length);
      terms.weights.fill(supervision.weights[row] ?? 0, next, next + positions.length);
      for (const position of positions) {
        const target = path[position] as number;
        predictorOf[target] = path[position - 1] as number;
        terms.pair[next] = target;
        terms.advantages[next] = sample.advantages[position] as number;
        terms.logprobs[next] = sample.logprobs[position] as number;
        if (terms.temperatures) terms.temperatures[next] = sample.temperatures?.[position] ?? 0;
        next++;
      }
    }
  }
  const { pairs, pairOf } = numberPairs(predictorOf, ids);
  return { pairs, terms: { ...terms, pair: terms.pair.map((target) => pairOf[target] as number) } };
}

function numberPairs(predictorOf: Int32Array, ids: Int32Array) {
  const pairOf = new Int32Array(ids.length);
  const supervised = new Int32Array(ids.length);
  let count = 0;
  for (let index = 0; index < ids.length; index++) {
    if (predictorOf[index] === -1) continue;
    pairOf[index] = count;
    supervised[count++] = index;
  }
  const targetsAt = supervised.subarray(0, count);
  const pairs = {
    predictors: targetsAt.map((index) => predictorOf[index] as number),
    targets: targetsAt.map((index) => ids[index] as number),
  };
  return { pairs, pairOf };
}
