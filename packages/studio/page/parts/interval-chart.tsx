import { showRate } from '../../src/page-logic/format.js';
import type { EvaluationPoint } from '../../src/wire.js';

/** The drawing is as wide as its place is on this screen, so that its letters keep their size. */
const screenWidth = document.documentElement.clientWidth;
const width = screenWidth < 640 ? 350 : screenWidth < 860 ? 760 : 560;
const size = { width, height: 220, left: 42, right: 14, top: 14, bottom: 30 };

/** Success at each evaluation with its 95% interval. The points are not joined: nothing was measured between them. */
export function IntervalChart({ points }: { readonly points: readonly EvaluationPoint[] }) {
  const [low, high] = rangeOf(points);
  const steps = points.map(({ step }) => step);
  const [first, last] = [Math.min(...steps), Math.max(...steps)];
  const x = (step: number): number =>
    last === first
      ? (size.left + size.width - size.right) / 2
      : size.left + 16 + ((step - first) / (last - first)) * (size.width - size.left - size.right - 32);
  const y = (rate: number): number =>
    size.height - size.bottom - ((rate - low) / (high - low)) * (size.height - size.top - size.bottom);
  return (
    <figure class="chart intervals">
      <svg viewBox={`0 0 ${size.width} ${size.height}`} role="img" aria-label={describe(points)}>
        {ticksOf(low, high).map((tick) => (
          <g key={tick}>
            <line class="grid" x1={size.left} x2={size.width - size.right} y1={y(tick)} y2={y(tick)} />
            <text class="tick" x={size.left - 8} y={y(tick) + 4} text-anchor="end">
              {tick.toFixed(1)}
            </text>
          </g>
        ))}
        {shownSteps(steps).map((step) => (
          <text key={step} class="tick" x={x(step)} y={size.height - 10} text-anchor="middle">
            {step}
          </text>
        ))}
        {points.map(({ step, rate, low: from, high: to }) => (
          <g key={step} class="interval">
            <title>{`step ${step}: ${showRate(rate)} (95% ${showRate(from)}–${showRate(to)})`}</title>
            <line x1={x(step)} x2={x(step)} y1={y(from)} y2={y(to)} />
            <line x1={x(step) - 4} x2={x(step) + 4} y1={y(from)} y2={y(from)} />
            <line x1={x(step) - 4} x2={x(step) + 4} y1={y(to)} y2={y(to)} />
            <circle cx={x(step)} cy={y(rate)} r="4.5" />
          </g>
        ))}
      </svg>
      <figcaption>Success on tasks that are not trained, by step. Bars are 95% intervals.</figcaption>
    </figure>
  );
}

function describe(points: readonly EvaluationPoint[]): string {
  return points.map(({ step, rate }) => `step ${step}: ${showRate(rate)}`).join(', ');
}

/**
 * Returns the range of the axis. It is rounded to tenths and no wider than the intervals need, so small changes are
 * visible.
 */
function rangeOf(points: readonly EvaluationPoint[]): readonly [number, number] {
  const low = Math.floor(Math.min(...points.map((point) => point.low)) * 10) / 10;
  const high = Math.ceil(Math.max(...points.map((point) => point.high)) * 10) / 10;
  return high - low < 0.2 ? [Math.max(0, low - 0.1), Math.min(1, high + 0.1)] : [low, high];
}

function ticksOf(low: number, high: number): readonly number[] {
  const step = high - low > 0.5 ? 0.2 : 0.1;
  const first = Math.ceil(low / step - 1e-9);
  const count = Math.floor((high - first * step) / step + 1e-9) + 1;
  return Array.from({ length: count }, (_none, at) => (first + at) * step);
}

/** At most eight labels, the first and the last among them. */
function shownSteps(steps: readonly number[]): readonly number[] {
  if (steps.length <= 8) return [...new Set(steps)];
  const every = (steps.length - 1) / 7;
  return [...new Set(Array.from({ length: 8 }, (_none, at) => steps[Math.round(at * every)] ?? 0))];
}
