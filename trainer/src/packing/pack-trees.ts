import type { Sample, TreePack } from '@agentjet/core';
import { checkOptions } from './check-options.js';
import { checkSamples } from './check-samples.js';
import { fillPacks } from './fill-packs.js';
import { planSharing, type Sharing } from './sharing.js';
import { splitTrie } from './split-trie.js';
import { superviseRows, type Normalization, type Supervision, type Weighting } from './supervision.js';
import { TokenTrie, type TrieRows } from './token-trie.js';
import { createTree, writePack, type Tree, type WrittenPack } from './write-pack.js';

export type PackOptions = {
  /** Token budget of one pack; memory of a forward pass grows with it. A longer row gets a pack of its own. */
  readonly maxPackTokens: number;
  /** Default `episode`. */
  readonly weighting?: Weighting;
  /** Default `token`. */
  readonly normalization?: Normalization;
  /** Default `tree`; the others are the baselines that tree training is measured against. */
  readonly sharing?: Sharing;
};

/** What the packing saved and what it cost, over the whole optimizer step. */
export type PackReport = {
  /** Rows with something to train. */
  readonly rows: number;
  /** Rows left out because nothing in them is trained. */
  readonly untrainedRows: number;
  /** Terms of the loss: the denominator of `token`. */
  readonly trainedTokens: number;
  /** Generated tokens that another row of their episode already supervises; not trained twice. */
  readonly repeatedTokens: number;
  readonly rowTokens: number;
  readonly treeTokens: number;
  /** Tokens of the rows that a backbone that takes rows computes instead of the trees; see packRows. */
  readonly leafTokens?: number;
  /** rowTokens / treeTokens: what sharing saves, 1 where nothing is shared. */
  readonly ratio: number;
  readonly packs: number;
  readonly trees: number;
  /** Trees beyond those that sharing alone makes: cut to fit the budget, or where the shared path is too short to pay. */
  readonly splits: number;
  /** Tokens that stand in more than one tree because of the cuts. */
  readonly duplicatedTokens: number;
  /** Rows longer than the budget; each has a pack of its own. */
  readonly oversizedRows: number;
};

/** Where a row went: its pack and the packed index of its last token. Undefined for an untrained row. */
export type RowPlace = { readonly pack: number; readonly lastIndex: number };

export type PackedTrees = {
  readonly packs: readonly TreePack[];
  readonly report: PackReport;
  /** One per sample, in the order given. */
  readonly places: readonly (RowPlace | undefined)[];
};

/**
 * Lays the samples of one optimizer step out as token trees: every shared token once, the same gradient as row by
 * row. `terms.sequence` of the packs is the index of the sample. Time is linear in tokens.
 *
 * Worked example: samples [5,6,7] and [5,6,8] of two episodes, last tokens trained, make the one pack
 * that stands at `TreePack` in @agentjet/core.
 *
 * Throws BackboneError `bad_sample` for a sample whose arrays do not fit together or hold no finite numbers, and
 * `bad_pack_options`.
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
