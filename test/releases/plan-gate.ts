import type { Cell } from './cells.js';

/** A seed that shows that nothing has changed, and three that decide if something has; three more only if those look bad. */
const usualSeeds = 4;
const seedsOfMinutes = 3;

type Limits = {
  /** Of the whole gate; Infinity: as long as it takes. */
  readonly minutes: number;
  /** Any count of days: where the round begins, so that every cell has its turn although one night holds only some. */
  readonly day: number;
  /** Milliseconds; a test gives its own clock. */
  readonly now?: () => number;
};

/** The order in which cells are gated, and whether one still fits into the time. Without a limit the order is the given one. */
export function planGate(
  chosen: readonly Cell[],
  { minutes, day, now = Date.now }: Limits,
): { readonly cells: readonly Cell[]; readonly fits: (cell: Cell) => boolean } {
  const begin = now();
  const first = minutes === Infinity ? 0 : day % chosen.length;
  return {
    cells: [...chosen.slice(first), ...chosen.slice(0, first)],
    fits: (cell) => (now() - begin) / 60_000 + (cell.minutes * usualSeeds) / seedsOfMinutes <= minutes,
  };
}
