import type { SchedulerOptions } from './scheduler.js';

const megabyte = 2 ** 20;

/** Multiplications of one prompt pass: about 0.2 s on two cores. Beyond, running calls would wait too long for new ones. */
const passWork = 2 ** 34;

/** Limits where nothing else was asked for, for a model with that many parameters. */
export function resolveEngineLimits(limits: Partial<SchedulerOptions>, numParameters: number): SchedulerOptions {
  return {
    maxBatchSize: 128,
    prefillTokens: Math.min(512, Math.max(32, Math.round(passWork / numParameters))),
    maxKvBytes: 512 * megabyte,
    maxPrefixCacheBytes: 128 * megabyte,
    ...limits,
  };
}
