export { packTrees, type PackedTrees, type PackOptions, type PackReport, type RowPlace } from './packing/pack-trees.js';
export type { Sharing } from './packing/sharing.js';
export type { Normalization, Weighting } from './packing/supervision.js';
