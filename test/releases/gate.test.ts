import { describe, expect, it } from 'vitest';
import { judgeCell, type GateRun } from './gate.js';
import { mean, medianAbsoluteDeviation } from './statistics.js';

const toRun = (seed: number, after: number, more: Partial<GateRun> = {}): GateRun => ({
  seed,
  before: 0.14,
  after,
  areaUnderCurve: 0.7,
  speed: null,
  ...more,
});

const baseline = [0.9, 0.9, 0.91, 0.88, 0.9].map((after, index) => toRun(index + 1, after));

function judge(first: readonly GateRun[], more: readonly GateRun[] = []) {
  const asked: (readonly number[])[] = [];
  const verdict = judgeCell({
    baseline,
    seeds: first.map(({ seed }) => seed),
    moreSeeds: more.map(({ seed }) => seed),
    run: (seeds) => {
      asked.push(seeds);
      return Promise.resolve(asked.length === 1 ? first : more);
    },
  });
  return verdict.then((found) => ({ ...found, asked }));
}

describe('the gate of a release', () => {
  it('is green at once if the seeds are within the band', async () => {
    const { color, asked } = await judge([toRun(11, 0.88), toRun(12, 0.9), toRun(13, 0.89)]);
    expect(color).toBe('green');
    expect(asked).toEqual([[11, 12, 13]]);
  });

  it('runs three more seeds if the median falls below the band, and turns red if the six do', async () => {
    const low = [11, 12, 13].map((seed) => toRun(seed, 0.8));
    const { color, asked, reasons } = await judge(
      low,
      [14, 15, 16].map((seed) => toRun(seed, 0.82)),
    );
    expect(color).toBe('red');
    expect(asked).toHaveLength(2);
    expect(reasons[0]).toContain('success after training: median 0.810 of 6 seeds is below 0.870');
  });

  it('forgives one unlucky seed of six, but not two', async () => {
    const lucky = [14, 15, 16].map((seed) => toRun(seed, 0.9));
    expect(await judge([toRun(11, 0.3), toRun(12, 0.9), toRun(13, 0.9)], lucky)).toMatchObject({ color: 'green' });
    const { color, reasons } = await judge([toRun(11, 0.3), toRun(12, 0.3), toRun(13, 0.9)], lucky);
    expect(color).toBe('red');
    expect(reasons).toEqual([expect.stringContaining('2 of 6 seeds gained less than half')]);
  });

  it('does not count a seed as lost whose gain the noise of the baseline explains', async () => {
    const gaining = (gains: readonly number[]) => (seeds: readonly number[]) =>
      Promise.resolve(
        seeds.map((seed, index) => toRun(seed, 0.93, { before: 0.93 - (gains[index % gains.length] ?? 0) })),
      );
    const judgeGains = async (usual: readonly number[], gains: readonly number[]) =>
      judgeCell({
        baseline: await gaining(usual)(usual.map((_gain, index) => index + 1)),
        seeds: [11, 12, 13],
        moreSeeds: [14, 15, 16],
        run: gaining(gains),
      });
    const usual = [0.01, 0.08, 0.04];
    expect((await judgeGains(usual, usual)).color).toBe('green');
    expect((await judgeGains(usual, [0.01, 0, -0.02])).color).toBe('green');
    const { color, reasons } = await judgeGains(usual, [0.04, -0.06, -0.06]);
    expect(color).toBe('red');
    expect(reasons).toEqual([expect.stringContaining('4 of 6 seeds gained less than half')]);
    // If the gain of the baseline is large, its noise changes nothing: half of the gain is the limit.
    expect((await judgeGains([0.6, 0.62, 0.61], [0.29, 0.29, 0.6])).color).toBe('red');
    expect((await judgeGains([0.6, 0.62, 0.61], [0.31, 0.31, 0.6])).color).toBe('green');
  });

  it('turns red if it ends as well but learns more slowly', async () => {
    const slow = (seed: number): GateRun => toRun(seed, 0.9, { areaUnderCurve: 0.6 });
    expect(await judge([11, 12, 13].map(slow), [14, 15, 16].map(slow))).toMatchObject({ color: 'red' });
  });

  it('turns red if two of three rounds are slower than 0.93 of the usual ratio', async () => {
    const timed = baseline.map((run) => ({ ...run, speed: 1 }));
    const run = (speeds: readonly number[]) => (seeds: readonly number[]) =>
      Promise.resolve(seeds.map((seed, index) => toRun(seed, 0.9, { speed: speeds[index % speeds.length] ?? 1 })));
    const options = { baseline: timed, seeds: [11, 12, 13], moreSeeds: [14, 15, 16] };
    expect((await judgeCell({ ...options, run: run([0.9, 0.9, 1]) })).color).toBe('red');
    expect((await judgeCell({ ...options, run: run([0.9, 1, 1]) })).color).toBe('green');
    // A machine whose ratios differ by this much from one run to the next cannot show a loss of 0.1.
    expect((await judgeCell({ ...options, run: run([0.81, 0.9, 0.98]) })).color).toBe('green');
    expect((await judgeCell({ ...options, run: run([0.45, 0.5, 0.55]) })).color).toBe('red');
  });

  it('is yellow if fewer than three seeds are known', async () => {
    const run = () => Promise.reject(new Error('must not train'));
    const verdict = await judgeCell({ baseline: baseline.slice(0, 2), seeds: [11], moreSeeds: [12], run });
    expect(verdict.color).toBe('yellow');
  });
});

describe('statistics of the gate', () => {
  it('measures the usual distance from the median, which one outlier does not change', () => {
    expect(medianAbsoluteDeviation([1, 1, 2, 4, 10])).toBe(1);
    expect(medianAbsoluteDeviation([1, 1, 2, 4, 1000])).toBe(1);
    expect(mean([])).toBe(0);
    expect(mean([1, 2])).toBe(1.5);
  });
});
