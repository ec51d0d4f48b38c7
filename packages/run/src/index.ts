export { StepMaker, type StepContent, type StepGroups, type StepMakerOptions } from './step-maker.js';
export {
  createStepWeights,
  rateAt,
  type OptimizerPlace,
  type StepRecipe,
  type StepWeights,
  type StepWeightsOptions,
} from './step-weights.js';
export {
  train,
  type Decided,
  type Recorder,
  type SourceStart,
  type TrainObserver,
  type TrainOptions,
  type TrainOutcome,
} from './train.js';
export { workAhead, type StepPace } from './work-ahead.js';
