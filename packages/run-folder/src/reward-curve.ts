import { renderLineChart, type Series } from './line-chart.js';
import type { MetricsRecord } from './metrics-record.js';

type Records = readonly MetricsRecord[];

/** reward.svg: mean reward of each step, its moving average, success, and the evaluations. */
export function renderRewardCurve(metrics: Records, evaluations: Records): string {
  const reward = pointsOf(metrics, 'reward_mean');
  const series: Series[] = [
    { name: 'reward, each step', points: reward, color: '#0969da', style: 'faint' },
    { name: `reward, mean of ${windowOf(reward.length)} steps`, points: movingAverage(reward), color: '#0969da' },
    { name: 'success in training', points: movingAverage(pointsOf(metrics, 'success_rate')), color: '#1a7f37' },
    { name: 'success in evaluation', points: pointsOf(evaluations, 'success_rate'), color: '#bc4c00', style: 'dots' },
  ];
  return renderLineChart({
    title: 'Reward by optimizer step',
    xLabel: 'step',
    series: series.filter(({ points }) => points.length > 0),
    yRange: [0, 1],
  });
}

export function pointsOf(records: Records, key: string): { readonly x: number; readonly y: number }[] {
  return records.flatMap((record) => (typeof record[key] === 'number' ? [{ x: record.step, y: record[key] }] : []));
}

function windowOf(count: number): number {
  return Math.max(1, Math.min(20, Math.round(count / 8)));
}

/** Mean over the last steps; shorter at the start. */
function movingAverage(points: readonly { readonly x: number; readonly y: number }[]) {
  const size = windowOf(points.length);
  return points.map(({ x }, index) => {
    const recent = points.slice(Math.max(0, index + 1 - size), index + 1);
    return { x, y: recent.reduce((sum, { y }) => sum + y, 0) / recent.length };
  });
}
