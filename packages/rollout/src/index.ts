export type { Episode, ModelOptions, Tuner, WorkflowLike } from './contract.js';
