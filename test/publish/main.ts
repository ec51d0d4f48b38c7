import { tryPublishing } from './try-publishing.js';

/** `npm run publish:trial [-- --json]` tries the publication of all packages against a registry on this machine. */

const isJson = process.argv.includes('--json');
try {
  const trial = await tryPublishing((line) => console.error(line));
  const isWhole = trial.published_before_the_break + trial.published_after === trial.packages;
  console.log(isJson ? JSON.stringify(trial) : `${trial.packages} packages, installed, ${trial.steps} step trained`);
  process.exitCode = isWhole && trial.published_again === 0 && trial.steps === 1 ? 0 : 1;
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
}
