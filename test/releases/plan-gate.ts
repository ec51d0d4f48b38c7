import type { Cell } from './cells.js';

/** A seed that shows that nothing has changed, three that decide if something has, and three more if those look bad. */
const mostSeeds = 7;
const seedsOfMinutes = 3;

type Limits = {
  /** Of the whole gate; Infinity: as long as it takes. */
  readonly minutes: number;
  /** Any count of days: where the round begins, so that every cell has its turn although one night holds only some. */
  readonly day: number;
  /** Milliseconds; a test gives its own clock. */
  readonly now?: () => number;
};

export type GatePlan = {
  readonly cells: readonly Cell[];
  /** True if a cell ends in time even if all seeds of it have to be trained. */
  readonly fits: (cell: Cell) => boolean;
  readonly isLimited: boolean;
};

/** The order in which cells are gated, and whether one still fits into the time. Without a limit the order is the given one. */
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
