import { examine } from './examine.js';
import type { Examination } from './finding.js';
import { readRun } from './sources/read-run.js';

/**
 * Says what keeps a run from learning, the most probable cause first, and what could not be looked at. `where` is a run
 * folder or a file of metrics: see `readRun`. It only reads. A run that is still being written can be examined too.
 */
export async function examineRun(where: string): Promise<Examination> {
  return examine(await readRun(where));
}
