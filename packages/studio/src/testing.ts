/** Runs for tests and benchmarks of the studio. */

export {
  addSyntheticStep,
  evaluateSynthetic,
  openSyntheticRun,
  writeSyntheticRun,
  type SyntheticRun,
} from './testing/write-synthetic-run.js';
