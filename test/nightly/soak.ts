import { soak } from '../chaos/soak.js';
import type { NightlyOutcome } from './nightly-job.js';

const minutes = Number(process.env['SOAK_MINUTES'] ?? 15);
const mostMbPerHour = 20;
/** The number of open files may grow by this much, because connections of the client come and go. */
const mostNewFiles = 16;

/**
 * Runs many episodes through the endpoint of one process, with a scripted engine. Memory and open files must not grow.
 */
export async function run(): Promise<NightlyOutcome> {
  const endsAt = performance.now() + minutes * 60_000;
  const result = await soak({ isOver: () => performance.now() > endsAt, paceMs: 20 });
  const [least, most] = result.files;
  return {
    passed:
      Math.max(result.rssSlopeMbPerHour, result.heldSlopeMbPerHour) <= mostMbPerHour && most - least <= mostNewFiles,
    summary: `${result.episodes} episodes, ${result.rssSlopeMbPerHour} MB/h (held: ${result.heldSlopeMbPerHour}), ${least} to ${most} open files`,
    details: { minutes, ...result },
  };
}
