import { run as runBench } from '../bench/real/bench.js';
import { findModel } from '../releases/find-model.js';
import type { NightlyOutcome } from './nightly-job.js';
import { findShortfalls } from './real/find-shortfalls.js';

/** Trains one seed of each tutorial with SmolLM2, as `npm run bench -- real` does, and compares it with its bar. */
export async function run(): Promise<NightlyOutcome> {
  if (findModel('smollm2-135m') === undefined)
    return { passed: false, isSkipped: true, summary: 'it needs: npx ajet model get smollm2-135m', details: {} };
  const { summary, details } = await runBench({
    args: [],
    report: (line) => console.error(line),
    waitUntilQuiet: async () => undefined,
  });
  const shortfalls = findShortfalls(summary);
  return {
    passed: shortfalls.length === 0,
    summary: shortfalls.length === 0 ? 'every tutorial meets its bar' : shortfalls.join('; '),
    details: { ...summary, ...details },
  };
}
