export type { GroupSource } from './group-source.js';
export { toEpisodeLine } from '@agentjet/records';
export { runSession, type SessionOptions } from './run-session.js';
export { withTrainingRun, type TrainingRun, type TrainingRunOptions } from './training-run.js';
