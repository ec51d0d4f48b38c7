/** The chart of a run, without reading files, so that a page can draw it. */

export { layOutChart, type ChartElement, type CurveChart } from './line-chart.js';
export { smooth, toRewardChart } from './reward-curve.js';
