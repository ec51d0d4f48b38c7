import type { Sample, TreePack } from '@agentjet/core';
import { checkOptions, type PackOptions } from './check-options.js';
import { checkSamples } from './check-samples.js';
import { fillPacks } from './fill-packs.js';
import { planSharing } from './sharing.js';
import { splitTrie } from './split-trie.js';
import { superviseRows, type Supervision } from './supervision.js';
import { TokenTrie, type TrieRows } from './token-trie.js';
import { createTree, writePack, type Tree, type WrittenPack } from './write-pack.js';

/** Reports what the packing saved and what it cost, over the whole optimizer step. */
export type PackReport = {
  /** The number of rows with something to train. */
  readonly rows: number;
  /** The number of rows left out because nothing in them is trained. */
  readonly untrainedRows: number;
  /** The number of terms of the loss, which is the denominator of `token`. */
  readonly trainedTokens: number;
  /**
   * The number of generated tokens that another row of their episode already supervises. They are not trained twice.
   */
  readonly repeatedTokens: number;
  readonly rowTokens: number;
  readonly treeTokens: number;
  /** The number of tokens that a backbone computes if it takes rows instead of trees; see packRows. */
  readonly leafTokens?: number;
  /** rowTokens / treeTokens: how many times more tokens the rows have than the trees. It is 1 if nothing is shared. */
  readonly ratio: number;
  readonly packs: number;
  readonly trees: number;
  /**
   * The number of additional trees because trees were cut. A tree is cut if it exceeds the budget, or if the shared
   * path is too short to save time.
   */
  readonly splits: number;
  /** The number of tokens that are in more than one tree because of the cuts. */
  readonly duplicatedTokens: number;
  /** The number of rows longer than the budget. Each has a separate pack. */
  readonly oversizedRows: number;
};

/** The place of a row: its pack and the packed index of its last token. It is undefined for an untrained row. */
export type RowPlace = { readonly pack: number; readonly lastIndex: number };

export type PackedTrees = {
  readonly packs: readonly TreePack[];
  readonly report: PackReport;
  /** The position of each sample, in the given order. */
  readonly places: readonly (RowPlace | undefined)[];
};

/**
 * Lays the samples of one optimizer step out as token trees. Every shared token is computed once, and the gradient is
 * the same as row by row. `terms.sequence` of the packs is the index of the sample. Time is linear in tokens.
 *
 * Worked example: samples [5,6,7] and [5,6,8] of two episodes, with their last tokens trained, make the one pack that
 * is shown at `TreePack` in @agentjet/core.
 *
 * Throws BackboneError `bad_sample` if a sample's arrays do not fit together or contain numbers that are not finite,
 * and `bad_pack_options`.
 */
export function packTrees(samples: readonly Sample[], options: PackOptions): PackedTrees {
  checkOptions(options);
  checkSamples(samples);
  const { maxPackTokens, weighting = 'episode', normalization = 'token', sharing = 'tree' } = options;
  const ids = samples.map((sample) => sample.ids);
  const supervision = superviseRows(samples, { weighting, normalization });
  const trained = [...ids.keys()].filter((row) => supervision.positions[row]?.length);
  const plan = planSharing(samples, trained, sharing);
  const rows: TrieRows = { ids, ...plan };
  const tries = plan.families.map((family) => new TokenTrie(rows, family));
  const trees = tries.flatMap((trie) => splitTrie(trie, maxPackTokens)).map((members) => createTree(rows, members));
  const written = fillPacks(trees, maxPackTokens).map((forest) => writePack(samples, supervision, forest));
  const packs = written.map(({ pack }) => pack);
  return {
    packs,
    places: findPlaces(samples.length, written),
    report: reportPacking({ packs, supervision, tries, trees, trained, ids, maxPackTokens }),
  };
}

function findPlaces(numRows: number, written: readonly WrittenPack[]): (RowPlace | undefined)[] {
  const places: (RowPlace | undefined)[] = Array.from({ length: numRows });
  written.forEach(({ lastIndices }, pack) => {
    for (const [row, lastIndex] of lastIndices) places[row] = { pack, lastIndex };
  });
  return places;
}

type Packing = {
  readonly packs: readonly TreePack[];
  readonly supervision: Supervision;
  readonly tries: readonly TokenTrie[];
  readonly trees: readonly Tree[];
  readonly trained: readonly number[];
  readonly ids: readonly Int32Array[];
  readonly maxPackTokens: number;
};

function reportPacking({ packs, supervision, tries, trees, trained, ids, maxPackTokens }: Packing): PackReport {
  const rowTokens = packs.reduce((sum, pack) => sum + pack.rowTokens, 0);
  const treeTokens = packs.reduce((sum, pack) => sum + pack.ids.length, 0);
  const uniqueTokens = tries.reduce((sum, trie) => sum + countTokens(trie), 0);
  return {
    rows: trained.length,
    untrainedRows: ids.length - trained.length,
    trainedTokens: supervision.trainedTokens,
    repeatedTokens: supervision.repeatedTokens,
    rowTokens,
    treeTokens,
    ratio: treeTokens === 0 ? 1 : rowTokens / treeTokens,
    packs: packs.length,
    trees: trees.length,
    splits: trees.length - tries.reduce((sum, trie) => sum + trie.root.children.size, 0),
    duplicatedTokens: treeTokens - uniqueTokens,
    oversizedRows: trained.filter((row) => (ids[row]?.length ?? 0) > maxPackTokens).length,
  };
}

function countTokens(trie: TokenTrie): number {
  return trie.preorder().reduce((sum, segment) => sum + segment.end - segment.start, 0);
}
