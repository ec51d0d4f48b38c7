import { existsSync } from 'node:fs';
import { cpus } from 'node:os';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import {
  exceededBudgets,
  formatParts,
  minutesByPart,
  shareOfOthers,
  slowestFiles,
  slownessOf,
} from '../../.ci/time-budget.mjs';
import { budgets, shares as keptShares } from '../../.ci/time-shares.mjs';
import { root } from '../../.ci/workspaces.mjs';

const shares = [
  { part: 'house', minutes: 0.5, folders: ['test/house', 'test/bench'] },
  { part: 'all else', minutes: 6, folders: [''] },
];
const seconds = { 'test/house/a.test.ts': 90, 'test/bench/b.test.ts': 6, 'test/household/c.test.ts': 120 };

describe('time of the tests', () => {
  it('is counted for the part whose folder holds the file, and divided among the workers', () => {
    expect(minutesByPart(seconds, shares, 2)).toEqual([
      { part: 'house', minutes: 0.8, allowed: 0.5, isOver: true },
      { part: 'all else', minutes: 1, allowed: 6, isOver: false },
    ]);
  });

  it('is what a faster machine would need, if this one is slow', () => {
    expect(slownessOf([0.4, 0.6])).toBe(2);
    expect(slownessOf([1.5, 2])).toBe(1);
    const [house, rest] = minutesByPart(seconds, shares, 2, slownessOf([0.5]));
    expect(house).toMatchObject({ minutes: 0.4, isOver: false });
    expect(rest?.minutes).toBe(0.5);
  });

  it('is printed with the parts that took longer than they may', () => {
    expect(formatParts(minutesByPart(seconds, shares, 2))).toBe(
      '  house        0.80 of 0.5 min  OVER\n  all else     1.00 of 6 min',
    );
    expect(slowestFiles(seconds, 1)).toBe('   120.0 s  test/household/c.test.ts');
  });

  it('of a part counts only if the whole took too long', () => {
    const parts = minutesByPart(seconds, shares, 2);
    const may = { test: 10, ci: 45 };
    expect(exceededBudgets(parts, { test: 9.9 }, may)).toEqual([]);
    expect(exceededBudgets(parts, { test: 10.1 }, may)).toEqual(['npm test: 10 minutes', 'house: 0.5 minutes']);
    expect(exceededBudgets(parts, { test: 9.9, ci: 46 }, may)).toEqual(['.ci/run: 45 minutes']);
  });

  it('is shared out to folders that exist, and no more of it than there is', () => {
    const folders = keptShares.flatMap((share) => share.folders);
    expect(folders.filter((folder) => !existsSync(path.join(root, folder)))).toEqual([]);
    expect(keptShares.reduce((sum, { minutes }) => sum + minutes, 0)).toBeLessThan(budgets.test);
  });

  it('is shared with other work if the machine spent more than our processes did', () => {
    const numCores = cpus().length;
    const before = { machine: 1000, ours: 10 };
    const after = { machine: 1000 + 60 * numCores, ours: 10 + 45 * numCores };
    expect(shareOfOthers(before, after, 60)).toBeCloseTo(0.25);
    expect(shareOfOthers(undefined, after, 60)).toBe(0);
  });
});
