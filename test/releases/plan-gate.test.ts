import { expect, it } from 'vitest';
import { cells } from './cells.js';
import { planGate } from './plan-gate.js';

const chosen = cells.slice(0, 4);

it('takes all cells in their order if there is no limit', () => {
  const plan = planGate(chosen, { minutes: Infinity, day: 3 });
  expect(plan.cells).toEqual(chosen);
  expect(chosen.every(plan.fits)).toBe(true);
});

it('begins with another cell each day, so that every cell gets its turn', () => {
  const firsts = [0, 1, 2, 3, 4].map((day) => planGate(chosen, { minutes: 30, day }).cells[0]);
  expect(firsts).toEqual([...chosen, chosen[0]]);
  expect(new Set(planGate(chosen, { minutes: 30, day: 2 }).cells)).toEqual(new Set(chosen));
});

it('leaves out what could last longer than the time that is left if all of its seven seeds are trained', () => {
  let minute = 0;
  const plan = planGate(chosen, { minutes: 30, day: 0, now: () => minute * 60_000 });
  const [cell] = chosen;
  if (cell === undefined) throw new Error('no cell');
  const needed = (cell.minutes * 7) / 3;
  minute = 30 - needed;
  expect(plan.fits(cell)).toBe(true);
  minute += 0.1;
  expect(plan.fits(cell)).toBe(false);
});

it('has time for each cell in a night, if it is the first', () => {
  const plan = planGate(cells, { minutes: 85, day: 0, now: () => 0 });
  expect(cells.filter((cell) => !plan.fits(cell))).toEqual([]);
});
