import type { NightlyOutcome } from './nightly-job.js';
import { runGate } from './run-gate.js';

/** A job has 90 minutes; what does not fit tonight has its turn on another night. */
export async function run(): Promise<NightlyOutcome> {
  return runGate(['--minutes', '85']);
}
