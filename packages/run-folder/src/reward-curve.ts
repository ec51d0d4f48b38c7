import { renderLineChart, type ChartPoint, type CurveChart, type Series } from './line-chart.js';
import type { MetricsRecord } from './metrics-record.js';

type Records = readonly MetricsRecord[];

/** Renders reward.svg. */
export const renderRewardCurve = (metrics: Records, evaluations: Records): string =>
  renderLineChart(toRewardChart(metrics, evaluations));

/**
 * Returns the chart of a run: mean reward of each step, its moving average, success, and the evaluations with their
 * intervals. For a run without rewards, the chart shows the loss. reward.svg and the studio draw this chart.
 */
export function toRewardChart(metrics: Records, evaluations: Records): CurveChart {
  const reward = pointsOf(metrics, 'reward_mean');
  if (reward.length === 0 && metrics.length > 0) return toLossChart(metrics, evaluations);
  const success = pointsOf(metrics, 'success_rate');
  const isReward = success.length === reward.length && success.every(({ y }, at) => y === reward[at]?.y);
  const series: Series[] = [
    ...withMean('reward', reward),
    // If success equals the reward, its curve is left out, because it would hide the other curve.
    { name: 'success in training', points: isReward ? [] : smoothPoints(success), color: 'good', style: 'dashed' },
    {
      name: 'success in evaluation',
      points: pointsOf(evaluations, 'success_rate', ['success_low', 'success_high']),
      color: 'second',
      style: 'marks',
    },
  ];
  return { title: 'Reward by step', xLabel: 'step', series: series.filter(({ points }) => points.length > 0) };
}

/** Returns the chart of a run that imitates. */
function toLossChart(metrics: Records, evaluations: Records): CurveChart {
  const loss = pointsOf(metrics, 'loss');
  const series: Series[] = [
    ...withMean('loss', loss),
    { name: 'held-out loss', points: pointsOf(evaluations, 'held_out_loss'), color: 'second', style: 'marks' },
  ];
  return {
    title: 'Loss by step, nats per token',
    xLabel: 'step',
    series: series.filter(({ points }) => points.length > 0),
  };
}

function pointsOf(records: Records, key: string, [low, high]: readonly string[] = []): readonly ChartPoint[] {
  return records.flatMap((record) => {
    const [y, from, to] = [record[key], record[low ?? ''], record[high ?? '']];
    if (typeof y !== 'number') return [];
    return [
      { x: record.step, y, ...(typeof from === 'number' && typeof to === 'number' ? { low: from, high: to } : {}) },
    ];
  });
}

/** Returns the curve of each step and, if there are enough steps, the curve of their moving average. */
function withMean(name: string, points: readonly ChartPoint[]): readonly Series[] {
  const window = windowOf(points.length);
  if (window === 1) return [{ name: `${name}, each step`, points, color: 'accent' }];
  return [
    { name: `${name}, each step`, points, color: 'accent', style: 'faint' },
    { name: `${name}, mean of ${window} steps`, points: smoothPoints(points), color: 'accent' },
  ];
}

const windowOf = (count: number): number => Math.max(1, Math.min(20, Math.round(count / 8)));

function smoothPoints(points: readonly ChartPoint[]): readonly ChartPoint[] {
  const means = smooth(
    points.map(({ y }) => y),
    windowOf(points.length),
  );
  return points.map(({ x, y }, at) => ({ x, y: means[at] ?? y }));
}

/**
 * Replaces each value by the mean of `window` values around it. Near an end, fewer are used, so that the ends stay in
 * place.
 */
export function smooth(values: readonly (number | null)[], window: number): readonly (number | null)[] {
  const reach = Math.floor(window / 2);
  if (reach === 0) return values;
  return values.map((value, at) => {
    if (value === null) return null;
    const width = Math.min(reach, at, values.length - 1 - at);
    const near = values.slice(at - width, at + width + 1).filter((each) => each !== null);
    return near.reduce((sum, each) => sum + each, 0) / near.length;
  });
}
