export type { GroupSource, SourceStart } from './group-source.js';
export { toEpisodeRecord } from './rollout/episode-record.js';
export { runSession, type SessionOptions } from './run-session.js';
export { withTrainingRun, type TrainingRun, type TrainingRunOptions } from './training-run.js';
