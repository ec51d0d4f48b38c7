import type { NightlyOutcome } from './nightly-job.js';
import { runGate } from './run-gate.js';

export async function run(): Promise<NightlyOutcome> {
  return runGate([]);
}
