import { expect, it } from 'vitest';
import { cells } from './cells.js';
import { cellName, type Cell } from './cells/cell.js';
import { gateCells } from './gate-cells.js';
import type { Verdict } from './gate.js';

const chosen = cells.slice(0, 3);
const names = chosen.map(cellName);
const silent = (): void => undefined;
const green: Verdict = { color: 'green', reasons: [] };
const plan = { cells: chosen, fits: () => true, isLimited: false };

/** Returns a green verdict, except that the second cell's run ends with an error. */
const crashAtSecond = (cell: Cell): Promise<Verdict> =>
  cell === chosen[1] ? Promise.reject(new Error('node ajet ended with 1:\nno space left')) : Promise.resolve(green);

it('counts a cell whose run crashes as red, with the first line of its error, and continues with the others', async () => {
  const { counts, verdicts } = await gateCells(plan, crashAtSecond, { say: silent });
  expect(counts).toEqual({ cells: 3, red: 1, yellow: 0, green: 2 });
  expect(verdicts).toEqual([
    { cell: names[0], ...green },
    { cell: names[1], color: 'red', reasons: ['node ajet ended with 1'] },
    { cell: names[2], ...green },
  ]);
});

it('says all of an error, so that the log has more than its first line', async () => {
  const lines: string[] = [];
  await gateCells(plan, crashAtSecond, { say: (line) => void lines.push(line) });
  expect(lines.join('\n')).toContain('no space left');
});

it('counts what was not reached only if the time has a limit', async () => {
  const late = { ...plan, isLimited: true, fits: (cell: Cell) => cell !== chosen[2] };
  const judge = () => Promise.resolve(green);
  expect((await gateCells(late, judge, { say: silent })).counts).toEqual({
    cells: 3,
    red: 0,
    yellow: 0,
    green: 2,
    not_reached: 1,
  });
  expect((await gateCells(plan, judge, { say: silent })).counts).not.toHaveProperty('not_reached');
});

it('reports what is known after each cell', async () => {
  const known: (readonly number[])[] = [];
  await gateCells(plan, crashAtSecond, {
    say: silent,
    onVerdict: ({ counts, verdicts }) => void known.push([counts.green, counts.red, verdicts.length]),
  });
  expect(known).toEqual([
    [1, 0, 1],
    [1, 1, 2],
    [2, 1, 3],
  ]);
});
