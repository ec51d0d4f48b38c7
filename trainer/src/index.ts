export { centerRewards } from './algorithms/advantages.js';
export { createGrpo, type GrpoOptions } from './algorithms/grpo/grpo.js';
export { createMaxrl } from './algorithms/maxrl/maxrl.js';
export { createReinforce, type ReinforceOptions } from './algorithms/reinforce/reinforce.js';
export { createSft } from './algorithms/sft/sft.js';

export type { LengthLimit, OverlongPolicy } from './packing/length-policy.js';
export { packTrees, type PackedTrees, type PackOptions, type PackReport, type RowPlace } from './packing/pack-trees.js';
export { packFor } from './packing/pack-for.js';
export { packRows, type PackedRows } from './packing/pack-rows.js';
export { padPack } from './packing/pad-pack.js';
export type { Sharing } from './packing/sharing.js';
export type { Normalization, Weighting } from './packing/supervision.js';
export { findParents, unpackRow } from './packing/unpack-rows.js';

export {
  batchesAhead,
  train,
  type OptimizerStep,
  type StepChanges,
  type StepEnd,
  type StepStart,
  type TrainObserver,
  type TrainOptions,
  type TrainOutcome,
} from './loop/train.js';
export {
  prepareBatch,
  type BatchSettings,
  type BatchTrainerOptions,
  type OptimizeOptions,
  type OptimizerOutcome,
  type PreparedBatch,
} from './loop/prepare-batch.js';
export { checkLoss } from './loop/choose-loss.js';
export type { LeftOutEpisode } from './loop/left-out.js';
export type { TokenReport } from './loop/token-reports.js';
export type { AttemptLength, GroupReport, TrainingGroup } from './loop/training-group.js';

export { learningRateAt } from './backbones/embedded/training/optimizer/learning-rate.js';
export { createOnnxBackbone, type OnnxBackboneOptions } from './backbones/embedded/create-onnx-backbone.js';
export type { SchedulerOptions } from './backbones/embedded/sampling/scheduler.js';
export { trainInPasses, type BuiltInBatch, type TwoPasses } from './slope/train-in-passes.js';
export { createTinkerBackbone, type TinkerBackboneOptions } from './backbones/tinker/create-tinker-backbone.js';
export { createVerlBackbone, type VerlBackbone } from './backbones/verl/create-verl-backbone.js';
export type { VerlBackboneOptions } from './backbones/verl/options.js';
export { createTorchBackbone, type TorchBackbone } from './backbones/torch/create-torch-backbone.js';
export type { TorchBackboneOptions } from './backbones/torch/options.js';

export { createModelFolder, type NewModelOptions } from './backbones/embedded/training/create-model-folder.js';
export { exportModel, readBaseModel, type ExportedModel } from './model-files/export-model.js';
export { readModelConfig } from './model-files/read-model-config.js';
export {
  readModelFolder,
  writeModelFolder,
  type ModelFolder,
  type ModelFolderContent,
} from './model-files/model-folder.js';
