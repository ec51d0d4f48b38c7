export { createTorchBackbone, type TorchBackbone } from './create-torch-backbone.js';
export type { TorchBackboneOptions } from './options.js';
