import { describe, expect, it } from 'vitest';
import { createRandom } from './random.js';
import {
  findLoss,
  formatChange,
  formatRate,
  pairedDifference,
  successInterval,
  wilsonInterval,
  type TaskScore,
} from './success-interval.js';

const once = (results: readonly (0 | 1)[]): readonly TaskScore[] =>
  results.map((successes) => ({ successes, trials: 1 }));

/** Pairs of results, each as often as its count. */
function pairs(counts: Readonly<Record<'00' | '01' | '10' | '11', number>>) {
  const all = Object.entries(counts).flatMap(([pair, count]) => Array.from({ length: count }, () => pair));
  return {
    before: once(all.map((pair) => (pair.startsWith('1') ? 1 : 0))),
    after: once(all.map((pair) => (pair.endsWith('1') ? 1 : 0))),
  };
}

describe("Wilson's interval", () => {
  it('is that of the literature', () => {
    // Newcombe, Statistics in Medicine 17 (1998) 857, table I, method 3
    for (const [successes, trials, low, high] of [
      [81, 263, 0.2553, 0.3662],
      [15, 148, 0.0624, 0.1605],
      [0, 20, 0, 0.1611],
      [1, 29, 0.0061, 0.1718],
    ] as const) {
      const interval = wilsonInterval(successes / trials, trials);
      expect(interval.low).toBeCloseTo(low, 4);
      expect(interval.high).toBeCloseTo(high, 4);
    }
  });

  it('contains everything if nothing was tried, and keeps its bounds exact', () => {
    expect(wilsonInterval(0, 0)).toEqual({ low: 0, high: 1 });
    expect(wilsonInterval(1, 7).high).toBe(1);
    expect(wilsonInterval(0, 7).low).toBe(0);
  });
});

describe('the interval of a success rate', () => {
  it("is Wilson's if each task was tried once", () => {
    expect(successInterval(once([1, 0, 1, 1, 0]))).toEqual(wilsonInterval(0.6, 5));
  });

  it('is wider if the episodes of a task agree, as wide as if each task was tried once', () => {
    const agreeing = [0, 4, 4, 0, 4, 4, 0, 4].map((successes) => ({ successes, trials: 4 }));
    expect(successInterval(agreeing)).toEqual(wilsonInterval(0.625, 8));
    const mixed = [2, 3, 2, 3, 2, 3, 2, 3].map((successes) => ({ successes, trials: 4 }));
    expect(successInterval(mixed)).toEqual(wilsonInterval(0.625, 32));
  });

  it('does not promise more after 1000 episodes of three tasks that always succeed', () => {
    const sure = [0, 1, 2].map(() => ({ successes: 1000, trials: 1000 }));
    expect(successInterval(sure)).toEqual(wilsonInterval(1, 3));
    expect(successInterval([{ successes: 3, trials: 8 }])).toEqual(wilsonInterval(3 / 8, 1));
  });

  it('ignores tasks that were not tried', () => {
    expect(successInterval([...once([1, 0]), { successes: 0, trials: 0 }])).toEqual(wilsonInterval(0.5, 2));
    expect(successInterval([])).toEqual({ low: 0, high: 1 });
  });
});

describe('the change of a success rate on the same tasks', () => {
  it('has the interval of the literature', () => {
    // Bentur et al., 2009, airway hyper-responsiveness before and after, in Fagerland et al., Statistics in Medicine 33 (2014) 2850
    const { before, after } = pairs({ '00': 12, '01': 7, '10': 1, '11': 1 });
    const change = pairedDifference(before, after);
    expect(change.difference).toBeCloseTo(6 / 21, 12);
    expect(change.low).toBeCloseTo(0.026, 3);
    expect(change.high).toBeCloseTo(0.507, 3);
  });

  it('excludes 0 on the same tasks if the intervals of both rates overlap', () => {
    const { before, after } = pairs({ '00': 20, '01': 8, '10': 0, '11': 22 });
    const change = pairedDifference(before, after);
    expect(change.low).toBeGreaterThan(0);
    expect(successInterval(after).low).toBeLessThan(successInterval(before).high);
  });

  it('turns around with its sides, and leaves out a task that one side did not try', () => {
    const { before, after } = pairs({ '00': 3, '01': 8, '10': 2, '11': 4 });
    const [there, back] = [pairedDifference(before, after), pairedDifference(after, before)];
    expect(back.low).toBeCloseTo(-there.high, 12);
    expect(back.difference).toBeCloseTo(-there.difference, 12);
    const untried = { successes: 0, trials: 0 };
    expect(pairedDifference([untried, ...before], [...once([1]), ...after])).toEqual(there);
    expect(pairedDifference([], [])).toEqual({ difference: 0, low: -1, high: 1 });
  });

  it.each([1, 4])(
    'contains the true change nearly always in simulated evaluations with %i episodes of each task',
    (trials) => {
      const { next } = createRandom(7);
      const draw = (chance: number): number => Array.from({ length: trials }, next).filter((x) => x < chance).length;
      const truth = 0.25; // tasks have chances from 0 to 0.75 before, and 0.25 more after
      let contained = 0; // 950 of 1000 are expected
      for (let round = 0; round < 1000; round++) {
        const chances = Array.from({ length: 40 }, () => next() * 0.75);
        const change = pairedDifference(
          chances.map((chance) => ({ successes: draw(chance), trials })),
          chances.map((chance) => ({ successes: draw(chance + truth), trials })),
        );
        if (change.low <= truth && truth <= change.high) contained++;
      }
      expect(contained).toBeGreaterThanOrEqual(940);
      expect(contained).toBeLessThan(1000);
    },
  );
});

it('a change says whether it may be chance', () => {
  expect(formatChange({ difference: 0.24, low: 0.1, high: 0.36 })).toBe('+0.240 (95% 0.100 to 0.360)');
  expect(formatChange({ difference: -0.06, low: -0.2, high: 0.08 })).toBe('-0.060 (95% -0.200 to 0.080, within noise)');
});

it('is written after its rate', () => {
  expect(formatRate(0.54, wilsonInterval(0.54, 50))).toBe('0.540 (95% 0.404-0.670)');
});

describe('the loss since the best evaluation', () => {
  const at = (step: number, rate: number, trials = 50) => ({ step, rate, ...wilsonInterval(rate, trials) });

  it('is found if the intervals are apart', () => {
    const loss = findLoss([at(0, 0.1), at(10, 0.8), at(20, 0.75), at(30, 0.45)]);
    expect(loss).toMatchObject({ best: { step: 10 }, last: { step: 30 } });
    expect(loss?.change.high).toBeLessThan(0);
    expect(findLoss([at(0, 0.1), at(10, 0.8), at(20, 0.7)])).toBeUndefined();
    expect(findLoss([at(0, 0.8)])).toBeUndefined();
    expect(findLoss([])).toBeUndefined();
  });

  it('is found if the same tasks fail, although the intervals touch', () => {
    const scores = (solved: number) =>
      new Map(Array.from({ length: 50 }, (_, task) => [`t${task}`, { successes: task < solved ? 1 : 0, trials: 1 }]));
    const evaluations = [at(0, 0.6), at(10, 0.46)];
    expect(findLoss(evaluations)).toBeUndefined();
    expect(findLoss(evaluations, (step) => scores(step === 0 ? 30 : 23))?.change.difference).toBeCloseTo(-0.14);
    expect(findLoss([at(0, 0.6), at(10, 0.54)], (step) => scores(step === 0 ? 30 : 27))).toBeUndefined();
  });
});
