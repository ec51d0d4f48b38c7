/** 950, 12.3k, 4.5M, 7.6B: formats a count for people. */
export function formatCount(count: number): string {
  if (count < 1000) return String(Math.round(count));
  if (count < 1e6) return `${(count / 1000).toFixed(1)}k`;
  return count < 1e9 ? `${(count / 1e6).toFixed(1)}M` : `${(count / 1e9).toFixed(1)}B`;
}

/** 512 B, 4.2 MiB, 13.1 GiB: formats an amount of memory for people. */
export function formatBytes(bytes: number): string {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
  const power = Math.min(units.length - 1, Math.max(0, Math.floor(Math.log2(Math.max(1, bytes)) / 10)));
  const value = bytes / 1024 ** power;
  return `${power === 0 || value >= 100 ? Math.round(value) : value.toFixed(1)} ${units[power]}`;
}

/** 4.2 s, 3 min 10 s, 2 h 5 min: formats a duration for people. */
export function formatSeconds(seconds: number): string {
  if (seconds < 60) return `${seconds.toFixed(seconds < 10 ? 1 : 0)} s`;
  const minutes = Math.floor(seconds / 60);
  return minutes < 60
    ? `${minutes} min ${Math.floor(seconds % 60)} s`
    : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

/** Returns a phrase such as "1 step" or "2 steps". */
export const countOf = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? '' : 's'}`;

/** 43%: formats a share for people. */
export const formatShare = (share: number): string => `${Math.round(100 * share)}%`;

/** Rounds seconds to milliseconds, or milliseconds to microseconds, for records. */
export const roundTime = (time: number): number => Math.round(time * 1000) / 1000;

/** Adds up numbers, or what `valueOf` returns for each item. */
export const addUp = <T>(items: readonly T[], valueOf: (item: T) => number = Number): number =>
  items.reduce((sum, item) => sum + valueOf(item), 0);

/** Returns the mean, or NaN if there are no values. */
export const mean = (values: readonly number[]): number => addUp(values) / values.length;
