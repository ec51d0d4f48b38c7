/** Exports the chart of a run without any code that reads files, so that a page in a browser can draw it. */

export { layOutChart, renderLineChart, type ChartElement, type CurveChart } from './line-chart.js';
export { smooth, toRewardChart } from './reward-curve.js';
