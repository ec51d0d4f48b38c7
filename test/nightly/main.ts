/** `.ci/nightly [job ...]` runs nightly jobs one after another and keeps their results in results/<job>.json. */
import { existsSync } from 'node:fs';
import path from 'node:path';
import { budgets } from '../../.ci/time-shares.mjs';
import { keepResult, readTree } from '../bench/keep-result.js';
import { isJobName, jobs, type JobName } from './nightly-job.js';
import { startJob } from './start-job.js';

const here = import.meta.dirname;
const isThere = (name: JobName): boolean => existsSync(path.join(here, `${name}.ts`));

function chooseJobs(asked: readonly string[]): readonly JobName[] {
  const unknown = asked.filter((name) => !isJobName(name));
  if (unknown.length > 0)
    throw new Error(
      `There is no nightly job "${unknown.join('", "')}". The jobs are: ${Object.keys(jobs).join(', ')}.`,
    );
  const chosen = asked.length === 0 ? Object.keys(jobs) : asked;
  return chosen.filter(isJobName);
}

async function runAndKeep(name: JobName): Promise<boolean> {
  console.log(`${name}: ${jobs[name]}`);
  const tree = readTree(here);
  const { passed, isSkipped, summary, details, minutes } = await startJob(name, {
    folder: here,
    limitMs: budgets.nightlyJob * 60_000,
  });
  const how = isSkipped === true ? 'skipped' : passed ? 'passed' : 'FAILED';
  console.log(`${name}: ${how} in ${minutes} min: ${summary}`);
  if (isSkipped === true) return true;
  if (tree.commit === null) console.log(`${name}: not kept: ${tree.problem}`);
  else
    keepResult(
      path.join(here, 'results'),
      { kind: 'job', name, commit: tree.commit },
      { summary: { passed, minutes, summary }, details },
    );
  return passed;
}

try {
  const asked = process.argv.slice(2);
  const chosen = chooseJobs(asked);
  const missing = chosen.filter((name) => !isThere(name));
  for (const name of missing) console.log(`${name}: not there yet`);
  let failed = asked.length === 0 ? 0 : missing.length;
  for (const name of chosen.filter(isThere)) failed += (await runAndKeep(name)) ? 0 : 1;
  process.exitCode = failed === 0 ? 0 : 1;
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
}
