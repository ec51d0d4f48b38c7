import { h } from 'preact';
import { layOutChart, type ChartElement, type CurveChart } from '@agentjet/run-folder/curve';
import { showRate } from '../../src/page-logic/format.js';
import type { EvaluationPoint } from '../../src/wire.js';

/** The drawing is as wide as its place is on this screen, so that its letters keep their size. */
const screenWidth = document.documentElement.clientWidth;
const width = screenWidth < 640 ? 350 : screenWidth < 860 ? 760 : 560;
const height = 220;

/** Success at each evaluation with its 95% interval. The points are not joined: nothing was measured between them. */
export function IntervalChart({ points }: { readonly points: readonly EvaluationPoint[] }) {
  const chart: CurveChart = {
    title: '',
    xLabel: '',
    hasHead: false,
    width,
    height,
    series: [
      {
        name: 'success',
        color: 'accent',
        style: 'marks',
        points: points.map(({ step, rate, low, high }) => ({ x: step, y: rate, low, high })),
      },
    ],
  };
  return (
    <figure class="chart intervals">
      <svg viewBox={`0 0 ${width} ${height}`} role="img" aria-label={describe(points)}>
        {layOutChart(chart).map(toNode)}
      </svg>
      <figcaption>Success on tasks that are not trained, by step. Bars are 95% intervals.</figcaption>
    </figure>
  );
}

const toNode = ({ tag, attributes, children = [] }: ChartElement): preact.JSX.Element =>
  h(
    tag,
    attributes,
    children.map((child) => (typeof child === 'string' ? child : toNode(child))),
  );

function describe(points: readonly EvaluationPoint[]): string {
  return points.map(({ step, rate }) => `step ${step}: ${showRate(rate)}`).join(', ');
}
