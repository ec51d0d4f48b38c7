export type { Evaluation, JobEvent, JobListener, JobResult, Phase, RunPlan, StepMetrics } from './events.js';
export type { RecordedCall, Transcript } from './debug/transcript-recorder.js';
export { readJobData, type JobData } from './inputs/job-data.js';
export { loadInputs, type GivenInputs } from './inputs/job-inputs.js';
export { evaluateJob, tuneJob } from './jobs.js';
export { openFrozenModel, type FrozenModel, type FrozenModelOptions } from './policy/frozen-model.js';
export { closeBackbones } from './policy/open-backbones.js';
export { formatCount, formatSeconds } from './quantities.js';
