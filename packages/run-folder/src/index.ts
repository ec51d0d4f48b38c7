export { checkpointName, Checkpoints, type Checkpoint, type TrainingState } from './checkpoints.js';
export { addDraws, drawsOf, type Draw, type Draws } from './draws.js';
export type { EpisodeFiles } from './episode-files.js';
export {
  toSampleRecord,
  type EpisodePhase,
  type EpisodeRecord,
  type RecordedEpisode,
  type SampleRecord,
} from './episode-record.js';
export { describeFileError } from './file-error.js';
export type { MetricsRecord } from './metrics-record.js';
export { createRunFolder, createRunFolderAt, findLatestRun, openRunFolder, type NewRun } from './open-run.js';
export type { RunFolder, RunFolderOptions } from './run-folder.js';
export { sumModel } from './model-sums.js';
export { restoreReplacedDir, writeDirAtomically } from './write-dir-atomically.js';
export { claimWriting, releaseWriting } from './writer-claim.js';
export { keptSecret } from './kept-secret.js';
