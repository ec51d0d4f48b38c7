import { renderLineChart } from '@agentjet/run-folder/curve';
import { median } from '../bench/bench.js';
import type { CellCurve } from './curves.js';

const steps = ['5', '10', '20', '40', 'end'];

const nameOf = ({ version, date, commit, model }: CellCurve): string =>
  `${version}, ${date}, ${commit.slice(0, 7)}, ${model}`;

/** The newest curve is the first of these. All older ones look like the last. */
const looks = [
  { color: 'accent', style: 'line' },
  { color: 'good', style: 'dashed' },
  { color: 'second', style: 'dashed' },
  { color: 'second', style: 'faint' },
] as const;

/** Draws the training success of all releases of a cell, each as the median of its seeds, as an SVG file. */
export function drawCurves(title: string, curves: readonly CellCurve[]): string {
  const series = curves.map((curve, at) => ({
    name: nameOf(curve),
    ...(looks[Math.min(curves.length - 1 - at, looks.length - 1)] ?? looks[0]),
    points: steps.flatMap((step, x) => {
      const values = curve.seeds.flatMap(({ success_at: success }) => success[step] ?? []);
      return values.length === 0 ? [] : [{ x, y: median(values) }];
    }),
  }));
  return renderLineChart({ title, xLabel: 'training step', xNames: steps, series: series.toReversed() });
}
