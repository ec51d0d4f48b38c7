import type { Cell } from './cells.js';

/**
 * One seed is enough to show that nothing has changed. If something has changed, three seeds decide, and three more if
 * their results are bad.
 */
const mostSeeds = 7;
const seedsOfMinutes = 3;

type Limits = {
  /** The minutes of the whole gate; Infinity for as long as it takes. */
  readonly minutes: number;
  /**
   * Any count of days. It says where the round begins, so that every cell has its turn although one night holds only
   * some.
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
 * Plans the order in which cells are gated, and whether one still fits into the time. Without a limit the order is the
 * given one.
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
