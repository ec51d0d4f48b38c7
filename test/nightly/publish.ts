import { tryPublishing } from '../publish/try-publishing.js';
import type { NightlyOutcome } from './nightly-job.js';

/** Publishes to a registry on this machine, and trains a step in a project that installed from there. */
export async function run(): Promise<NightlyOutcome> {
  const trial = await tryPublishing((line) => console.log(line));
  const passed = trial.published_again === 0 && trial.steps === 1;
  return {
    passed,
    summary: `${trial.packages} packages published and installed, ${trial.steps} step trained`,
    details: trial,
  };
}
