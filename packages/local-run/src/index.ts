export { evaluatePhase } from './phases/evaluate-phase.js';
export { createPlaceKeeper } from './phases/place-keeper.js';
export { createRunEvaluations } from './phases/run-evaluations.js';
export { type RolloutContext, runPhase } from './phases/run-phase.js';
export { withRollout } from './phases/with-rollout.js';
export { WorkerCount } from './phases/worker-count.js';
export { wrapModels } from './phases/wrap-models.js';
export { nothingCompleted, runSession, type SessionOptions } from './run-session.js';
export { probeDifficulty } from './schedule/probe-difficulty.js';
export { openTrainingTable, readPlan, evaluatesAtAll } from './schedule/read-plan.js';
export { createScheduleSource, type GroupSource } from './schedule/schedule-source.js';
export type { Selected } from './schedule/select-by-difficulty.js';
export {
  loadCheckpoint,
  type TrainingRun,
  type TrainingRunOptions,
  withoutStart,
  withTrainingRun,
} from './training-run.js';
export { noticeAdapterBase } from './training/adapter-base.js';
export { withAutoSettings } from './training/auto-settings.js';
export {
  checkKeepBest,
  checkServedStart,
  checkStart,
  checkStopOnCollapse,
  describePassN,
} from './training/check-start.js';
export { EmptySteps } from './training/empty-steps.js';
export { silenceOf, unawaitedIn } from './training/with-stall-notice.js';
export { watchSteps, type WatchedSteps } from './training/watch-steps.js';
export { findRun, openFolderAgain, recordChanges, startAgain } from './training/resume-run.js';
export { StepObserver } from './training/step-observer.js';
export { toBatchSettings, toOptimizerOptions, toTrainSettings } from './training/train-settings.js';
