export { Checkpoints, type Checkpoint, type TrainingState } from './checkpoints.js';
export { addDraws, drawsOf, type Draw, type Draws } from './draws.js';
export type { EpisodeFiles } from './episode-files.js';
export { toSampleRecord, type EpisodeRecord, type SampleRecord } from './episode-record.js';
export { describeFileError } from './file-error.js';
export type { MetricsRecord } from './metrics-record.js';
export { createRunFolder, findLatestRun, openRunFolder, type NewRun } from './open-run.js';
export type { RunFolder, RunFolderOptions } from './run-folder.js';
export { restoreReplacedDir, writeDirAtomically } from './write-dir-atomically.js';
