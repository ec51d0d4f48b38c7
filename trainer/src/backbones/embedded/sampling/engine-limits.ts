import type { SchedulerOptions } from './scheduler.js';

const megabyte = 2 ** 20;

/**
 * The maximum number of multiplications of one prompt pass, which takes about 0.2 s on two cores. Running calls would
 * wait too long for a longer pass.
 */
const passWork = 2 ** 34;

/** Returns the default limits for a model with that many parameters. */
export function resolveEngineLimits(limits: Partial<SchedulerOptions>, numParameters: number): SchedulerOptions {
  return {
    maxBatchSize: 128,
    prefillTokens: Math.min(512, Math.max(32, Math.round(passWork / numParameters))),
    maxKvBytes: 512 * megabyte,
    maxPrefixCacheBytes: 128 * megabyte,
    ...limits,
  };
}
