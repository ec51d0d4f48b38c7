import { run as runBench } from '../bench/soak/bench.js';
import type { NightlyOutcome } from './nightly-job.js';

const minutes = process.env['SOAK_MINUTES'] ?? '30';
const mostMbPerHour = 20;
/** The number of handles may grow by this much, because connections of clients come and go. */
const mostNewHandles = 16;

/**
 * Runs 200 clients and many faults against one server process. Memory, handles and pace must not change, and nothing
 * may be lost.
 */
export async function run(): Promise<NightlyOutcome> {
  const { summary, details } = await runBench({
    report: console.log,
    args: ['--minutes', minutes],
    waitUntilQuiet: () => Promise.resolve(),
  });
  const { rss_slope_mb_per_hour: slope, handles_growth: handles, lost } = summary as Readonly<Record<string, number>>;
  return {
    passed: Number(slope) <= mostMbPerHour && Number(handles) <= mostNewHandles && lost === 0,
    summary: `${slope} MB/h, ${handles} more handles, ${lost} lost`,
    details: { ...summary, ...details },
  };
}
