/** The one policy for requests that are sent again: which answers call for it, and how long to wait. */

export type RetryGaps = { readonly firstGapMs: number; readonly longestGapMs: number };

/** A longer wait, such as one for a day, is an outage, because a silent wait would look like a run that hangs. */
export const longestRestMs = 300_000;

/** Returns whether the same request may succeed later. */
export const isTemporary = (status: number): boolean => status >= 500 || [408, 409, 425, 429].includes(status);

/**
 * Returns the wait before the next try, with equal jitter (AWS Architecture Blog, 2015). The first try is number 1.
 * `random` is from 0 to 1.
 */
export const gapAfter = (attempt: number, { firstGapMs, longestGapMs }: RetryGaps, random: number): number =>
  Math.min(longestGapMs, firstGapMs * 2 ** (attempt - 1)) * (0.5 + random / 2);

/** Reads `retry-after-ms`, or `retry-after` in seconds or as a date. Null if both are missing. */
export function readWait(headers: Pick<Headers, 'get'>): number | null {
  const ms = Number(headers.get('retry-after-ms') ?? Number.NaN);
  if (Number.isFinite(ms) && ms >= 0) return ms;
  const after = headers.get('retry-after');
  if (after === null) return null;
  const seconds = Number(after);
  if (Number.isFinite(seconds)) return Math.max(0, seconds * 1000);
  const date = Date.parse(after);
  return Number.isNaN(date) ? null : Math.max(0, date - Date.now());
}
