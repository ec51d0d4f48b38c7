import { cpus } from 'node:os';
import { describe, expect, it } from 'vitest';
import { formatParts, minutesByPart, shareOfOthers, slowestFiles } from '../../.ci/time-budget.mjs';

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

  it('is printed with the parts that took longer than they may', () => {
    expect(formatParts(minutesByPart(seconds, shares, 2))).toBe(
      '  house        0.80 of 0.5 min  OVER\n  all else     1.00 of 6 min',
    );
    expect(slowestFiles(seconds, 1)).toBe('   120.0 s  test/household/c.test.ts');
  });

  it('is shared with other work if the machine spent more than our processes did', () => {
    const numCores = cpus().length;
    const before = { machine: 1000, ours: 10 };
    const after = { machine: 1000 + 60 * numCores, ours: 10 + 45 * numCores };
    expect(shareOfOthers(before, after, 60)).toBeCloseTo(0.25);
    expect(shareOfOthers(undefined, after, 60)).toBe(0);
  });
});
