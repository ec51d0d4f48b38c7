export { RecoveryBudget } from './recovery-budget.js';
export { StepMaker, type StepContent, type StepGroups } from './step-maker.js';
export { createStepWeights, type StepWeights } from './step-weights.js';
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
