import type { NightlyJob } from './nightly-job.js';
import { runGate } from './run-gate.js';

/**
 * Runs the gate of the releases for 85 minutes, because a job has 90. Cells that do not fit into this time come on
 * another night.
 */
export const run: NightlyJob['run'] = (keep) => runGate(['--minutes', '85'], { keep });
