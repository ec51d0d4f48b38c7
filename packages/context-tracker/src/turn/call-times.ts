import type { CallTimes } from '../contract.js';

/** Rounds to tenths of a millisecond, because records hold the times of every call. */
export function roundTimes({ beganMs, endedMs, waitedMs, promptMs, samplingMs }: CallTimes): CallTimes {
  return {
    beganMs: toTenths(beganMs),
    endedMs: toTenths(endedMs),
    ...(waitedMs !== undefined && { waitedMs: toTenths(waitedMs) }),
    ...(promptMs !== undefined && { promptMs: toTenths(promptMs) }),
    ...(samplingMs !== undefined && { samplingMs: toTenths(samplingMs) }),
  };
}

export const toTenths = (ms: number): number => Math.round(ms * 10) / 10;
