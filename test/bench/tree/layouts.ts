import type { Sample, TreePack } from '@agentjet/core';
import { packTrees, type Sharing } from '@agentjet/trainer';

/** Ways to lay out the same rows, all within the same token budget. All have the same gradient. */
export const layouts = {
  /** B0: every row is padded to the length of the longest. */
  padded_rows: (rows) => pack(rows.map(padTo(longest(rows))), 'none'),
  /** B1, the reference: rows share nothing, and have no padding that the engine can avoid. */
  rows: (rows) => pack(rows, 'none'),
  /** B2: if a row of an episode continues another row, the two are merged. Branches share nothing. */
  linear: (rows) => pack(rows, 'linear'),
  /** B3: prompts are shared at any depth, trained tokens are not. */
  prompt: (rows) => pack(rows, 'prompt'),
  tree: (rows) => pack(rows, 'tree'),
} satisfies Readonly<Record<string, (rows: readonly Sample[]) => readonly TreePack[]>>;

export type LayoutName = keyof typeof layouts;
export const layoutNames = Object.keys(layouts) as LayoutName[];

function pack(samples: readonly Sample[], sharing: Sharing): readonly TreePack[] {
  return packTrees(samples, { maxPackTokens: 8192, sharing }).packs;
}

function longest(rows: readonly Sample[]): number {
  return rows.reduce((length, { ids }) => Math.max(length, ids.length), 0);
}

/**
 * Adds padding that the model computes, as in a batch of padded rows. The padding continues the row and is not trained.
 */
function padTo(length: number): (sample: Sample) => Sample {
  return (sample) => ({
    ...sample,
    ids: copyInto(new Int32Array(length), sample.ids),
    lossMask: copyInto(new Uint8Array(length), sample.lossMask),
    logprobs: copyInto(new Float32Array(length), sample.logprobs),
    policyVersions: copyInto(new Int32Array(length).fill(-1), sample.policyVersions),
    advantages: copyInto(new Float32Array(length), sample.advantages),
  });
}

function copyInto<T extends Int32Array | Uint8Array | Float32Array>(target: T, source: T): T {
  target.set(source);
  return target;
}
