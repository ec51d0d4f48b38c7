export { createTorchBackbone, type TorchBackbone, type TorchTrainStepMetrics } from './create-torch-backbone.js';
export { findPython, venvPython, workerDir } from './find-python.js';
export type { LoraOptions, TorchBackboneOptions, TorchInferenceOptions, TorchLossOptions } from './options.js';
