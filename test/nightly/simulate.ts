import { describeFailure, simulateMany } from '../swarm/simulation/simulate-many.js';
import type { NightlyOutcome } from './nightly-job.js';

const runs = Number(process.env['SIMULATE_RUNS'] ?? '10000');
const runsPerLine = 1000;

/**
 * Runs the swarm on a virtual clock, with other seeds every day and faults of every kind. A failing seed is printed and
 * can be replayed alone.
 */
export async function run(): Promise<NightlyOutcome> {
  const seed = runs * Math.floor(Date.now() / 86_400_000);
  const report = await simulateMany({ runs, seed }, (result) => {
    if (result.violations.length > 0) console.log(describeFailure(result));
    if ((result.seed - seed + 1) % runsPerLine === 0) console.log(`${result.seed - seed + 1} of ${runs} runs`);
  });
  return {
    passed: report.violations === 0 && report.episodes_trained > runs,
    summary: `${report.runs} runs from seed ${seed}, ${report.episodes_trained} episodes trained, ${report.violations} violations`,
    details: { seed, ...report },
  };
}
