import type { NightlyJob } from './nightly-job.js';
import { runGate } from './run-gate.js';

/** A job has 90 minutes. Cells that do not fit tonight come on another night. */
export const run: NightlyJob['run'] = (keep) => runGate(['--minutes', '85'], { keep });
