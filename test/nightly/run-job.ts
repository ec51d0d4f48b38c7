/**
 * The process of one job. `tsx run-job.ts <job file> <outcome file> <file for what is known so far>` runs it and writes
 * its outcome.
 */
import { renameSync, writeFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import type { NightlyJob, NightlyOutcome } from './nightly-job.js';

const [jobFile = '', outcomeFile = '', soFarFile = ''] = process.argv.slice(2);

let known: NightlyOutcome | undefined;

/** Replaces the file in one step, because a kill may come at any time. */
function keep(soFar: NightlyOutcome): void {
  known = soFar;
  writeFileSync(`${soFarFile}.new`, JSON.stringify(soFar));
  renameSync(`${soFarFile}.new`, soFarFile);
}

async function runJob(): Promise<NightlyOutcome> {
  try {
    const { run } = (await import(pathToFileURL(jobFile).href)) as NightlyJob;
    return await run(keep);
  } catch (error) {
    const summary = error instanceof Error ? error.message : String(error);
    return {
      passed: false,
      summary,
      details: { ...known?.details, error: error instanceof Error ? error.stack : summary },
    };
  }
}

writeFileSync(outcomeFile, JSON.stringify(await runJob()));
