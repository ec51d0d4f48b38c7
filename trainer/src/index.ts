export { createAlgorithm, type AlgorithmName, type AlgorithmOptions } from './algorithms/create-algorithm.js';

export type { LengthLimit, OverlongPolicy } from './packing/length-policy.js';
export { packTrees, type PackedTrees, type PackOptions, type PackReport, type RowPlace } from './packing/pack-trees.js';
export { padPack } from './packing/pad-pack.js';
export type { Sharing } from './packing/sharing.js';
export type { Normalization, Weighting } from './packing/supervision.js';
export { findParents, unpackRow } from './packing/unpack-rows.js';
