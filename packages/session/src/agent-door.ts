/** The exports for an agent's code. Importing them loads neither the trainer nor a tokenizer. */
export { readJobData, type JobData } from './inputs/job-data.js';
export { openFrozenModel, type FrozenModel } from './policy/answering-models.js';
export type { FrozenModelOptions } from './policy/open-model.js';
export { openTunedModel, type TunedModel, type TunedModelOptions } from './policy/answering-models.js';
