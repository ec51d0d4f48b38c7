/** Turns token rows into packs, for scoring. */

import type { TokenRow, TreePack } from '@agentjet/core';

/** Makes a tree of one row, in which every token except the first is a target. The row needs at least two tokens. */
export function packOfRow({ ids }: TokenRow): TreePack {
  const numPairs = ids.length - 1;
  const none = new Float32Array(0);
  return {
    ids,
    positions: Int32Array.from(ids, (_, position) => position),
    ends: new Int32Array(ids.length).fill(ids.length),
    predictors: Int32Array.from({ length: numPairs }, (_, position) => position),
    targets: ids.slice(1),
    terms: { pair: new Int32Array(0), sequence: new Int32Array(0), weights: none, advantages: none, logprobs: none },
    rowTokens: ids.length,
  };
}
