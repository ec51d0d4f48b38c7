import type { Sample } from '@agentjet/core';
import { groupBy } from './group-by.js';
import { TokenTrie, type Segment } from './token-trie.js';

/**
 * Selects which tokens rows may share.
 * - `tree`: every common prefix, trained tokens too.
 * - `prompt`: common prefixes of prompts, up to but without the token that predicts the row's first trained one.
 * - `linear`: a row that is a prefix of another row of its episode is absorbed by it; branches share nothing.
 * - `none`: every row separately.
 */
export type Sharing = 'tree' | 'prompt' | 'linear' | 'none';

export type SharingPlan = {
  /** Rows of different families share nothing. */
  readonly families: readonly (readonly number[])[];
  readonly shareLimits?: readonly number[];
};

export function planSharing(samples: readonly Sample[], rows: readonly number[], sharing: Sharing): SharingPlan {
  switch (sharing) {
    case 'tree':
      return { families: [rows] };
    case 'prompt':
      return { families: [rows], shareLimits: samples.map(promptLength) };
    case 'linear':
      return { families: linearChains(samples, rows) };
    case 'none':
      return { families: rows.map((row) => [row]) };
  }
}

function promptLength(sample: Sample): number {
  const first = sample.lossMask.indexOf(1);
  return first === -1 ? sample.ids.length : first - 1;
}

function linearChains(samples: readonly Sample[], rows: readonly number[]): number[][] {
  const ids = samples.map((sample) => sample.ids);
  const episodes = groupBy(rows, (row) => samples[row]?.episodeId);
  return [...episodes.values()].flatMap((members) => {
    const trie = new TokenTrie({ ids }, members);
    return [...groupBy(members, (row) => firstLeafBelow(trie.lastSegment(row))).values()];
  });
}

function firstLeafBelow(segment: Segment): Segment {
  let leaf = segment;
  for (let child: Segment | undefined = leaf; child !== undefined; [child] = leaf.children.values()) leaf = child;
  return leaf;
}
