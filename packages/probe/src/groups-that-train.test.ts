import { describe, expect, it } from 'vitest';
import { scoreGroups } from './groups-that-train.js';
import type { GroupRules, EpisodeOutcome } from './outcomes.js';

const rules: GroupRules = { dropsFailed: false, minShare: 0.5, trainedIfEqual: new Set() };

/**
 * One task; `x` is a failed episode and each other character is a value. A capital letter is a masked episode with the
 * value of the small one.
 */
const task = (values: string) => ({
  outcomes: [...values].map((value): EpisodeOutcome => {
    const isMasked = value !== value.toLowerCase();
    return { value: value === 'x' ? null : value.toLowerCase(), isSuccess: value === '1', isMasked };
  }),
});

function chance(values: string, numRepeat: number, more: Partial<GroupRules> = {}): number {
  const [score] = scoreGroups([task(values)], numRepeat, { ...rules, ...more });
  return score === undefined ? Number.NaN : score.successes / score.trials;
}

/** Returns the share of groups that train, by trying every choice of `number` values. */
function byEnumeration(values: string, number: number, trains: (chosen: string) => boolean): number {
  const choices = (rest: string, left: number): readonly string[] =>
    left === 0
      ? ['']
      : [...rest].flatMap((value, index) => choices(rest.slice(index + 1), left - 1).map((each) => value + each));
  const all = choices(values, number);
  return all.filter(trains).length / all.length;
}

describe('the chance that a group trains', () => {
  it.each(['11000000', '1110', '0000', '0122', 'abcdefgh', '00001111222'])(
    'is the share of all choices of its episodes that differ: %s',
    (values) => {
      for (const number of [2, 3, 4])
        expect(chance(values, number)).toBeCloseTo(
          byEnumeration(values, number, (chosen) => new Set(chosen).size > 1),
          12,
        );
    },
  );

  it.each(['aaBBcC', 'AABB', 'AAAa', 'AAAb', 'aAbBcC'])(
    'needs an episode that is not masked, next to different rewards: %s',
    (values) => {
      const trains = (chosen: string): boolean =>
        new Set(chosen.toLowerCase()).size > 1 && chosen !== chosen.toUpperCase();
      for (const number of [2, 3, 4])
        expect(chance(values, number)).toBeCloseTo(byEnumeration(values, number, trains), 12);
    },
  );

  it('counts equal rewards that train only if an episode is not masked', () => {
    const more = { trainedIfEqual: new Set(['a']) };
    const trains = (chosen: string): boolean => chosen !== chosen.toUpperCase();
    expect(chance('aAAA', 3, more)).toBeCloseTo(byEnumeration('aAAA', 3, trains), 12);
    expect(chance('AAAA', 8, more)).toBe(0);
    expect(chance('AABB', 8)).toBe(0);
  });

  it('needs half of the places and two episodes if failed episodes are left out', () => {
    const trains = (chosen: string): boolean => {
      const completed = chosen.replaceAll('x', '');
      return completed.length >= 2 && new Set(completed).size > 1;
    };
    expect(chance('1100xxx', 4)).toBeCloseTo(byEnumeration('1100xxx', 4, trains), 12);
    expect(chance('1100xxx', 4, { minShare: 1 })).toBeCloseTo(
      byEnumeration('1100xxx', 4, (chosen) => !chosen.includes('x') && new Set(chosen).size > 1),
      12,
    );
  });

  it('needs all places if a group with a failed episode is dropped', () => {
    expect(chance('1100xxx', 3, { dropsFailed: true })).toBeCloseTo(
      byEnumeration('1100xxx', 3, (chosen) => !chosen.includes('x') && new Set(chosen).size > 1),
      12,
    );
  });

  it('is 1 for equal episodes that train all the same', () => {
    expect(chance('1111', 4, { trainedIfEqual: new Set(['1']) })).toBe(1);
    expect(chance('0000', 4, { trainedIfEqual: new Set(['1']) })).toBe(0);
  });

  it('is 0 for one episode, and if all failed', () => {
    expect(chance('0101', 1)).toBe(0);
    expect(chance('xxxx', 4)).toBe(0);
    expect(chance('xxxx', 8)).toBe(0);
  });

  it('says nothing of a task without episodes', () => {
    expect(scoreGroups([task('')], 4, rules)).toEqual([{ successes: 0, trials: 0 }]);
  });

  it('grows with the group beyond the number of episodes', () => {
    const tasks = ['0001', '0010', '0000', '0100', '0000', '1000'].map(task);
    const shares = [4, 8, 16, 32].map((size) =>
      scoreGroups(tasks, size, rules).reduce(
        (sum, { successes, trials }) => sum + successes / trials / tasks.length,
        0,
      ),
    );
    expect(shares).toEqual(shares.toSorted((left, right) => left - right));
    expect(shares[3]).toBeLessThanOrEqual(1);
  });

  it('stays 0 for larger groups if no episode of any task differed', () => {
    const tasks = Array.from({ length: 16 }, () => task('0000'));
    for (const { successes, trials } of scoreGroups(tasks, 16, rules)) expect(successes / trials).toBeLessThan(0.25);
  });
});
