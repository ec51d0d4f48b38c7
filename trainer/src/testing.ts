export { adamOptions } from './testing/adam-options.js';
export { algorithmCases } from './testing/algorithm-cases.js';
export { backboneCases, type BackboneCaseOptions } from './testing/backbone-cases.js';
export { createRandomSample, createRandomSamples, type RandomSampleOptions } from './testing/random-samples.js';
export { writeRandomAdapter } from './testing/random-adapter.js';
export { writeRandomModelFolder } from './testing/random-model-folder.js';
export { createRandomOnnxModel, type RandomModelOptions } from './testing/random-onnx-model.js';
export { termLoss, type Term, type TermLoss } from './slope/term-loss.js';
export { createTinyBackbone, type TinyBackboneOptions } from './testing/tiny-backbone.js';
export {
  createTinyWeights,
  nextLogprobs,
  pairLogprobs,
  tinyGradient,
  type TinyGradient,
  type TinyShape,
  type TinyWeights,
} from './testing/tiny-model.js';
export type { ContractCase } from './testing/contract-case.js';
export { engineCases, type EngineSubject, type EngineCaseOptions } from './testing/engine-cases.js';
export { TinkerServer, type TinkerServerOptions } from './backbones/tinker/testing/tinker-server.js';
export { weightsCases, type WeightsCaseOptions } from './testing/weights-cases.js';
export { createTinyTaskBackbone, tinyTaskGroups, tinyTaskOptimizer } from './testing/tiny-task.js';
export { readLossCases } from './testing/losses/read-loss-cases.js';
export { referenceSlopes, type FixedTerms, type LossCase } from './testing/losses/loss-case.js';
export { measureDistillation } from './testing/losses/measure-distillation.js';
export { measureLossCase, measureLossOn } from './testing/losses/measure-loss-case.js';
export { lossSubjects } from './testing/losses/loss-subjects.js';
export { tinyConfig } from './testing/tiny-config.js';
export { stepMetricNames } from './testing/step-metric-names.js';
export { plainLoss } from './testing/plain-loss.js';
export { withoutSeconds } from './testing/without-seconds.js';
export { creditGroups } from './loop/credit-groups.js';
