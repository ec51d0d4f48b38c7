/**
 * Packs the samples of one optimizer step for a backbone that takes rows. Each leaf of the token tree becomes one row.
 * Tokens that leaves share are computed once per leaf but supervised once, in the first leaf, with all their terms, so
 * the gradient is the tree's.
 */

import type { Sample, TreePack } from '@agentjet/core';
import { checkOptions, type PackOptions } from './check-options.js';
import { checkSamples } from './check-samples.js';
import type { PackReport } from './pack-trees.js';
import { groupBy } from './group-by.js';
import { superviseRows, type Supervision } from './supervision.js';
import type { TrieRows } from './token-trie.js';
import { findParents, unpackRow } from './unpack-rows.js';
import { createTree, writePack, type WrittenPack } from './write-pack.js';

export type PackedRows = { readonly packs: readonly TreePack[]; readonly report: PackReport };

/**
 * A row that is a prefix of another row of its episode needs no computation, as with `sharing: linear`. Each pack is
 * one row, so the options `maxPackTokens` and `sharing` are not used. Throws as packTrees does.
 */
export function packRows(samples: readonly Sample[], options: PackOptions): PackedRows {
  checkOptions(options);
  checkSamples(samples);
  const { weighting = 'episode', normalization = 'token' } = options;
  const supervision = superviseRows(samples, { weighting, normalization });
  const trained = [...samples.keys()].filter((row) => supervision.positions[row]?.length);
  const rows: TrieRows = { ids: samples.map((sample) => sample.ids) };
  const episodes = [...groupBy(trained, (row) => samples[row]?.episodeId).values()];
  const packs = episodes.flatMap((members) =>
    cutIntoLeaves(writePack(samples, supervision, [createTree(rows, members)]), samples),
  );
  return { packs, report: reportRows(packs, { supervision, numRows: samples.length, trained, rows }) };
}

type Packing = {
  readonly supervision: Supervision;
  readonly numRows: number;
  readonly trained: readonly number[];
  readonly rows: TrieRows;
};

function reportRows(packs: readonly TreePack[], { supervision, numRows, trained, rows }: Packing): PackReport {
  const rowTokens = packs.reduce((sum, pack) => sum + pack.rowTokens, 0);
  const treeTokens = createTree(rows, trained).tokens;
  return {
    rows: trained.length,
    untrainedRows: numRows - trained.length,
    trainedTokens: supervision.trainedTokens,
    repeatedTokens: supervision.repeatedTokens,
    rowTokens,
    treeTokens,
    leafTokens: packs.reduce((sum, pack) => sum + pack.ids.length, 0),
    ratio: treeTokens === 0 ? 1 : rowTokens / treeTokens,
    packs: packs.length,
    trees: packs.length,
    splits: 0,
    duplicatedTokens: 0,
    oversizedRows: 0,
  };
}

/** Cuts a pack into one pack for each leaf. In preorder, the first leaf below a token is the next leaf after it. */
function cutIntoLeaves({ pack, lastIndices }: WrittenPack, samples: readonly Sample[]): TreePack[] {
  const parents = findParents(pack);
  const leaves = [...pack.ends.keys()].filter((index) => pack.ends[index] === index + 1);
  const leafOf = new Int32Array(pack.ids.length);
  for (let index = 0, leaf = 0; index < leafOf.length; index++) {
    leafOf[index] = leaf;
    if (index === leaves[leaf]) leaf++;
  }
  const pairs = groupBy(pack.predictors.keys(), (pair) => leafOf[targetIndex(pack, parents, pair)] ?? 0);
  const terms = groupBy(pack.terms.pair.keys(), (term) => pack.terms.pair[term] ?? 0);
  const rowsOfLeaf = groupBy(lastIndices.keys(), (row) => leafOf[lastIndices.get(row) ?? 0] ?? 0);
  return leaves.map((lastIndex, leaf) => {
    const ids = unpackRow(pack, { pack: 0, lastIndex }, parents);
    const rowTokens = (rowsOfLeaf.get(leaf) ?? []).reduce((sum, row) => sum + (samples[row]?.ids.length ?? 0), 0);
    return { ...rowLayout(ids), ...rowLoss(pack, pairs.get(leaf) ?? [], terms), rowTokens };
  });
}

/** Returns the packed index of a pair's target: the child of the predictor that has the target's id. */
function targetIndex({ ids, ends, predictors, targets }: TreePack, parents: Int32Array, pair: number): number {
  const predictor = predictors[pair] ?? 0;
  for (let index = predictor + 1; index < (ends[predictor] ?? 0); index = ends[index] ?? index + 1)
    if (parents[index] === predictor && ids[index] === targets[pair]) return index;
  throw new Error(`Pair ${pair} of a written pack has no target.`);
}

function rowLayout(ids: Int32Array) {
  return { ids, positions: Int32Array.from(ids.keys()), ends: new Int32Array(ids.length).fill(ids.length) };
}

function rowLoss(pack: TreePack, pairs: readonly number[], termsOf: ReadonlyMap<number, readonly number[]>) {
  const kept = pairs.flatMap((pair, index) => (termsOf.get(pair) ?? []).map((term) => ({ term, index })));
  const { sequence, weights, advantages, logprobs, temperatures } = pack.terms;
  const floats = (values: Float32Array) => Float32Array.from(kept, ({ term }) => values[term] ?? 0);
  return {
    predictors: Int32Array.from(pairs, (pair) => pack.positions[pack.predictors[pair] ?? 0] ?? 0),
    targets: Int32Array.from(pairs, (pair) => pack.targets[pair] ?? 0),
    terms: {
      pair: Int32Array.from(kept, ({ index }) => index),
      sequence: Int32Array.from(kept, ({ term }) => sequence[term] ?? 0),
      weights: floats(weights),
      advantages: floats(advantages),
      logprobs: floats(logprobs),
      ...(temperatures && { temperatures: floats(temperatures) }),
    },
  };
}
