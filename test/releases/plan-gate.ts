import type { Cell } from './cells/cell.js';

/**
 * The maximum number of seeds of a cell. One seed shows whether anything has changed. If so, three more decide, and
 * another three if their results are bad.
 */
const mostSeeds = 7;
const seedsOfMinutes = 3;

type Limits = {
  /** The minutes that the whole gate may take. Infinity means no limit. */
  readonly minutes: number;
  /**
   * The number of the day. It decides with which cell the gate begins, so that all cells have their turn although a
   * night has time for only some of them.
   */
  readonly day: number;
  /** The time in milliseconds. Tests replace it. */
  readonly now?: () => number;
};

export type GatePlan = {
  readonly cells: readonly Cell[];
  /** True if a cell ends in time even if all of its seeds have to be trained. */
  readonly fits: (cell: Cell) => boolean;
  readonly isLimited: boolean;
};

/**
 * Plans the order of the cells, and decides whether a cell still fits into the time. Without a limit, the order does
 * not change.
 */
export function planGate(chosen: readonly Cell[], { minutes, day, now = Date.now }: Limits): GatePlan {
  const begin = now();
  const isLimited = minutes !== Infinity;
  const first = isLimited ? day % chosen.length : 0;
  return {
    cells: [...chosen.slice(first), ...chosen.slice(0, first)],
    fits: (cell) => (now() - begin) / 60_000 + (cell.minutes * mostSeeds) / seedsOfMinutes <= minutes,
    isLimited,
  };
}
