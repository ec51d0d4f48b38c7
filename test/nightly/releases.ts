import type { NightlyJob } from './nightly-job.js';
import { runGate } from './run-gate.js';

/** A job has 90 minutes; what does not fit tonight has its turn on another night. */
export const run: NightlyJob['run'] = (keep) => runGate(['--minutes', '85'], { keep });
