export type {
  Evaluation,
  JobEvent,
  JobListener,
  JobResult,
  Phase,
  RunPlan,
  SftResult,
  StepMetrics,
} from '@agentjet/records';
export { failEpisodesThatExit } from '@agentjet/rollout/loading';
export type { TranscriptCall, EpisodeTranscript } from '@agentjet/records';
export { loadInputs, type GivenInputs } from './inputs/job-inputs.js';
export { loadJudge } from './inputs/load-judge.js';
export {
  checkModelJob,
  evaluateJob,
  exportModelJob,
  getModelJob,
  listModelsJob,
  loadTrainer,
  serveModelJob,
  serveWithVllmJob,
  sftJob,
  tuneJob,
} from './jobs.js';
export type { BackboneCheck, ModelCheck } from './models/check-model.js';
export { describeNeed, describeParts } from './needs/describe-need.js';
export type { NeedVerdict } from './needs/judge-need.js';
export type { ServedModel, ServeModelOptions } from './policy/serve-tuned-model.js';
export { loadSftInputs } from './sft/load-sft-inputs.js';
export { toSftInput } from './sft/sft-config.js';
export type { HeldOutLoss } from '@agentjet/records';
export { closeBackbones } from './policy/open-backbones.js';
export { wrapWithCallLimit } from './rollout/call-limit.js';
export { hashCode } from './training/code-hashes.js';
