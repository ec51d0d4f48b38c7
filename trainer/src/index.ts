export { centerRewards, isTrained } from './algorithms/advantages.js';
export { createGrpo } from './algorithms/grpo/grpo.js';
export { createReinforce } from './algorithms/reinforce/reinforce.js';
export { createSft } from './algorithms/sft/sft.js';

export { packTrees } from './packing/pack-trees.js';
export type { PackOptions } from './packing/check-options.js';
export { packFor } from './packing/pack-for.js';
export type { Sharing } from './packing/sharing.js';
export type { Normalization } from './packing/supervision.js';
export { findParents } from './packing/unpack-rows.js';

export { createTokenRecording, type TokenRecording } from './loop/token-records.js';
export { prepareBatch, type BatchSettings, type PreparedBatch } from './loop/prepare-batch.js';
export { shapeRewards, type RewardShaping } from './loop/shape-rewards.js';
export { askTeacher } from './loop/ask-teacher.js';
export { checkLoss } from './loop/choose-loss.js';
export type { AttemptLength, GroupReport, TrainingGroup } from './loop/training-group.js';

export { largeModelAlpha } from './backbones/lora-options.js';
export { learningRateAt } from './backbones/embedded/training/optimizer/learning-rate.js';
export { createOnnxBackbone } from './backbones/embedded/create-onnx-backbone.js';
export { createTinkerBackbone } from './backbones/tinker/create-tinker-backbone.js';
export { createVerlBackbone } from './backbones/verl/create-verl-backbone.js';
export { createTorchBackbone } from './backbones/torch/create-torch-backbone.js';

export { createTinkerTeacher } from './teachers/tinker-teacher.js';
export { createVllmTeacher, type VllmTeacher } from './teachers/vllm-teacher.js';

export { createModelFolder } from './backbones/embedded/training/create-model-folder.js';
export { exportModel, readBaseModel, type ExportedModel } from './model-files/export-model.js';
export { readAdapterScale } from './model-files/read-adapter.js';
export { readModelConfig } from './model-files/read-model-config.js';
export { writeModelFolder } from './model-files/model-folder.js';
