/** The process of one job: `tsx run-job.ts <job file> <outcome file>` runs it and writes its outcome. */
import { writeFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import type { NightlyJob, NightlyOutcome } from './nightly-job.js';

const [jobFile = '', outcomeFile = ''] = process.argv.slice(2);

async function runJob(): Promise<NightlyOutcome> {
  try {
    const { run } = (await import(pathToFileURL(jobFile).href)) as NightlyJob;
    return await run();
  } catch (error) {
    const summary = error instanceof Error ? error.message : String(error);
    return { passed: false, summary, details: { error: error instanceof Error ? error.stack : summary } };
  }
}

writeFileSync(outcomeFile, JSON.stringify(await runJob()));
