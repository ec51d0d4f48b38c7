import { renderLineChart, type Series } from './line-chart.js';
import type { MetricsRecord } from './metrics-record.js';

type Records = readonly MetricsRecord[];

/**
 * Renders reward.svg: mean reward of each step, its moving average, success, and the evaluations. A run without rewards
 * shows its loss.
 */
export function renderRewardCurve(metrics: Records, evaluations: Records): string {
  const reward = pointsOf(metrics, 'reward_mean');
  if (reward.length === 0 && metrics.length > 0) return renderLossCurve(metrics, evaluations);
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

/** Renders the loss of a run that imitates. */
function renderLossCurve(metrics: Records, evaluations: Records): string {
  const loss = pointsOf(metrics, 'loss');
  const series: Series[] = [
    { name: 'loss, each step', points: loss, color: '#0969da', style: 'faint' },
    { name: `loss, mean of ${windowOf(loss.length)} steps`, points: movingAverage(loss), color: '#0969da' },
    { name: 'held-out loss', points: pointsOf(evaluations, 'held_out_loss'), color: '#bc4c00', style: 'dots' },
  ];
  return renderLineChart({
    title: 'Loss by optimizer step, nats per token',
    xLabel: 'step',
    series: series.filter(({ points }) => points.length > 0),
  });
}

export function pointsOf(records: Records, key: string): { readonly x: number; readonly y: number }[] {
  return records.flatMap((record) => (typeof record[key] === 'number' ? [{ x: record.step, y: record[key] }] : []));
}

function windowOf(count: number): number {
  return Math.max(1, Math.min(20, Math.round(count / 8)));
}

/** Returns the moving average over the last steps. At the start, it averages fewer steps. */
function movingAverage(points: readonly { readonly x: number; readonly y: number }[]) {
  const size = windowOf(points.length);
  return points.map(({ x }, index) => {
    const recent = points.slice(Math.max(0, index + 1 - size), index + 1);
    return { x, y: recent.reduce((sum, { y }) => sum + y, 0) / recent.length };
  });
}
