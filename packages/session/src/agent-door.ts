/** What an agent's code needs of a session: nothing here loads the trainer or a tokenizer before it is called. */
export { readJobData, type JobData } from './inputs/job-data.js';
export { openFrozenModel, type FrozenModel } from './policy/answering-models.js';
export type { FrozenModelOptions } from './policy/open-model.js';
export { openTunedModel, type TunedModel, type TunedModelOptions } from './policy/answering-models.js';
