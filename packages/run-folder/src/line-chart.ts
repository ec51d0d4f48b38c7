import { mean } from '@agentjet/core';

/**
 * Lays out a line chart as SVG elements: two axes with round ticks, curves, and measured points with their intervals.
 * The elements have classes instead of colours. `renderLineChart` renders them as an SVG file. A page draws the same
 * elements.
 */

export type ChartPoint = {
  readonly x: number;
  readonly y: number;
  /** The ends of the interval of a mark. */
  readonly low?: number;
  readonly high?: number;
};

export type Series = {
  readonly name: string;
  readonly points: readonly ChartPoint[];
  readonly color: 'accent' | 'good' | 'second';
  /** `line` is the default, `faint` is thin and pale, and `marks` are points that are not joined. */
  readonly style?: 'line' | 'faint' | 'dashed' | 'marks';
};

export type CurveChart = {
  readonly title: string;
  readonly xLabel: string;
  /** Names of x = 0, 1, 2 and so on. Default: the numbers. */
  readonly xNames?: readonly string[];
  readonly series: readonly Series[];
  readonly width?: number;
  readonly height?: number;
  /** If false, the chart has no title and no legend. */
  readonly hasHead?: boolean;
};

export type ChartElement = {
  readonly tag: 'g' | 'line' | 'text' | 'polyline' | 'circle' | 'title';
  readonly attributes: Readonly<Record<string, string | number>>;
  readonly children?: readonly (ChartElement | string)[];
};

type Frame = { readonly left: number; readonly top: number; readonly right: number; readonly bottom: number };
type Scale = { readonly at: (value: number) => number; readonly ticks: readonly number[] };

/**
 * The maximum number of points in a line. More points cannot be distinguished at this size, so neighbours are averaged.
 */
const maxPoints = 400;

export function layOutChart(chart: CurveChart): readonly ChartElement[] {
  const { title, xLabel, xNames, series, width = 640, height = 340, hasHead = true } = chart;
  const [left, right] = [52, width - 18];
  const legend = hasHead ? placeLegend(series, left, right) : [];
  const top = hasHead ? (legend.at(-1)?.y ?? 24) + 22 : 12;
  const frame: Frame = { left, top, right, bottom: height - (xLabel === '' ? 26 : 46) };
  const shown = series.map((each) => ({ ...each, points: toShownPoints(each) }));
  const points = shown.flatMap((each) => each.points);
  const inset = 8;
  const x = createScale(
    points.map((point) => point.x),
    [frame.left + inset, frame.right - inset],
    { count: 8, isWhole: true },
  );
  const values = points.flatMap(({ y, low = y, high = y }) => [y, low, high]);
  const y = createScale(values, [frame.bottom, frame.top], { count: 5, isWhole: false });
  return [
    ...(hasHead ? [text({ class: 'head', x: frame.left, y: 24 }, title), ...legend.flatMap(layOutLegendEntry)] : []),
    ...layOutAxes({ x, y, frame, xLabel, ...(xNames && { xNames }) }),
    ...shown.flatMap((each) => layOutSeries(each, x, y)),
  ];
}

const style = `
text{fill:#5c6370}.head{fill:#14161a;font-size:16px;font-weight:600}.back{fill:#fff}.grid{stroke:#e4e6ea}.axis{stroke:#8b919c}
.curve,.mark line{fill:none;stroke-width:2;stroke-linejoin:round}.faint{stroke-width:1;stroke-opacity:.35}.dashed{stroke-dasharray:6 4}
.accent{stroke:#3d53c9}.good{stroke:#0b6b3a}.second{stroke:#a34a00}circle{stroke-width:0}circle.accent{fill:#3d53c9}circle.good{fill:#0b6b3a}circle.second{fill:#a34a00}
@media(prefers-color-scheme:dark){text{fill:#9aa1ad}.head{fill:#eceef1}.back{fill:#131519}.grid{stroke:#262a31}.axis{stroke:#5c6370}
.accent{stroke:#98a8ff}.good{stroke:#5fce93}.second{stroke:#f0a35e}circle.accent{fill:#98a8ff}circle.good{fill:#5fce93}circle.second{fill:#f0a35e}}`;

/** Renders a chart as an SVG file that adapts to light and dark mode. The file needs no library and no script. */
export function renderLineChart(chart: CurveChart): string {
  const { title, width = 640, height = 340 } = chart;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" font-family="system-ui, sans-serif" font-size="14" role="img" aria-label="${escapeXml(title)}">`,
    `<style>${style}</style>`,
    `<rect class="back" width="${width}" height="${height}"/>`,
    ...layOutChart(chart).map(renderElement),
    '</svg>',
    '',
  ].join('\n');
}

function renderElement({ tag, attributes, children = [] }: ChartElement): string {
  const names = Object.entries(attributes).map(([name, value]) => ` ${name}="${escapeXml(String(value))}"`);
  const inner = children.map((child) => (typeof child === 'string' ? escapeXml(child) : renderElement(child)));
  return `<${tag}${names.join('')}>${inner.join('')}</${tag}>`;
}

const text = (attributes: ChartElement['attributes'], content: string): ChartElement => ({
  tag: 'text',
  attributes,
  children: [content],
});

type LegendEntry = { readonly series: Series; readonly x: number; readonly y: number };

/** Places the entries of the legend. An entry that does not fit into a line begins the next line. */
function placeLegend(series: readonly Series[], left: number, right: number): readonly LegendEntry[] {
  let [x, y] = [left, 44];
  return series.map((each) => {
    const width = 21 + each.name.length * 7.6;
    if (x > left && x + width > right) [x, y] = [left, y + 21];
    const entry = { series: each, x, y };
    x += width + 16;
    return entry;
  });
}

function layOutLegendEntry({ series, x, y }: LegendEntry): readonly ChartElement[] {
  const { name, color, style: kind = 'line' } = series;
  const sign: ChartElement =
    kind === 'marks'
      ? { tag: 'circle', attributes: { class: color, cx: x + 8, cy: y, r: 4 } }
      : { tag: 'line', attributes: { class: `curve ${color} ${kind}`, x1: x, x2: x + 16, y1: y, y2: y } };
  return [sign, text({ x: x + 21, y: y + 5 }, name)];
}

type Axes = Pick<CurveChart, 'xLabel' | 'xNames'> & {
  readonly x: Scale;
  readonly y: Scale;
  readonly frame: Frame;
};

function layOutAxes({ x, y, frame, xLabel, xNames }: Axes): readonly ChartElement[] {
  const { left, right, bottom } = frame;
  const across = (name: string, at: number): ChartElement => ({
    tag: 'line',
    attributes: { class: name, x1: left, x2: right, y1: at, y2: at },
  });
  return [
    ...y.ticks.flatMap((tick) => [
      across('grid', round(y.at(tick))),
      text({ class: 'tick', x: left - 8, y: round(y.at(tick) + 4), 'text-anchor': 'end' }, formatTick(tick)),
    ]),
    ...x.ticks.map((tick) =>
      text(
        { class: 'tick', x: round(x.at(tick)), y: bottom + 19, 'text-anchor': 'middle' },
        xNames?.[tick] ?? formatTick(tick),
      ),
    ),
    across('axis', bottom),
    ...(xLabel === '' ? [] : [text({ x: (left + right) / 2, y: bottom + 39, 'text-anchor': 'middle' }, xLabel)]),
  ];
}

function layOutSeries(series: Series, x: Scale, y: Scale): readonly ChartElement[] {
  const { points, color, style: kind = 'line', name } = series;
  if (kind === 'marks') return points.map((point) => layOutMark(point, { name, color, x, y }));
  const places = points.map((point) => `${round(x.at(point.x))},${round(y.at(point.y))}`);
  const dots = points.length === 1 ? points.map((point) => layOutMark(point, { name, color, x, y })) : [];
  return [{ tag: 'polyline', attributes: { class: `curve ${color} ${kind}`, points: places.join(' ') } }, ...dots];
}

type Marked = { readonly name: string; readonly color: string; readonly x: Scale; readonly y: Scale };

/** Draws a measured point, and its interval as a bar with two ends. */
function layOutMark({ x: step, y: value, low, high }: ChartPoint, { name, color, x, y }: Marked): ChartElement {
  const [cx, cy] = [round(x.at(step)), round(y.at(value))];
  const line = (dx: number, from: number, to: number): ChartElement => ({
    tag: 'line',
    attributes: { class: color, x1: cx - dx, x2: cx + dx, y1: round(y.at(from)), y2: round(y.at(to)) },
  });
  const hasInterval = low !== undefined && high !== undefined;
  const interval = hasInterval ? `, 95% ${formatTick(low)} to ${formatTick(high)}` : '';
  return {
    tag: 'g',
    attributes: { class: 'mark' },
    children: [
      { tag: 'title', attributes: {}, children: [`${name}, step ${step}: ${formatTick(value)}${interval}`] },
      ...(hasInterval ? [line(0, low, high), line(4, low, low), line(4, high, high)] : []),
      { tag: 'circle', attributes: { class: color, cx, cy, r: 4.5 } },
    ],
  };
}

function createScale(
  values: readonly number[],
  [from, to]: readonly [number, number],
  options: { readonly count: number; readonly isWhole: boolean },
): Scale {
  const low = values.length === 0 ? 0 : values.reduce((a, b) => Math.min(a, b));
  const high = values.length === 0 ? 1 : values.reduce((a, b) => Math.max(a, b));
  const step = tickStep(high - low, options);
  const start = Math.floor(low / step + 1e-9) * step;
  const end = Math.max(Math.ceil(high / step - 1e-9) * step, start + step);
  const ticks = Array.from({ length: Math.round((end - start) / step) + 1 }, (_, index) => start + index * step);
  return { at: (value) => from + ((value - start) / (end - start)) * (to - from), ticks };
}

/** Returns 1, 2 or 5 times a power of ten. */
function tickStep(span: number, { count, isWhole }: { readonly count: number; readonly isWhole: boolean }): number {
  const rough = (span > 0 ? span : 1) / count;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = ([1, 2, 5].find((factor) => factor * power >= rough) ?? 10) * power;
  return isWhole ? Math.max(step, 1) : step;
}

function toShownPoints({ points: given, style: kind }: Series): readonly ChartPoint[] {
  const points = given.filter(({ y }) => Number.isFinite(y));
  const size = Math.ceil(points.length / maxPoints);
  if (size <= 1 || kind === 'marks') return points;
  return Array.from({ length: Math.ceil(points.length / size) }, (_, index) => {
    const bucket = points.slice(index * size, (index + 1) * size);
    return { x: mean(bucket.map(({ x }) => x)), y: mean(bucket.map(({ y }) => y)) };
  });
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}

const formatTick = (value: number): string => formatPlain(Number(value.toPrecision(4)));

function escapeXml(content: string): string {
  const entities: Readonly<Record<string, string>> = {
    '&': '&amp;',
    '<': '&lt;',
    '>': '&gt;',
    '"': '&quot;',
    "'": '&#39;',
  };
  return content.replaceAll(/[&<>"']/g, (char) => entities[char] ?? char);
}

/**
 * Formats a number of at most six significant digits as `toLocaleString('en-US', { maximumFractionDigits: 6 })` does,
 * such as "12,340.5". `toLocaleString` takes as long as all other work for a chart, so it formats only unusual numbers.
 */
export function formatPlain(value: number): string {
  const size = Math.abs(value);
  if (Object.is(value, -0) || !(size < 1e21) || (size > 0 && size < 1e-3))
    return value.toLocaleString('en-US', { maximumFractionDigits: 6 });
  const [whole = '', fraction] = String(value).split('.');
  const grouped = whole.replaceAll(/\B(?=(\d{3})+$)/g, ',');
  return fraction === undefined ? grouped : `${grouped}.${fraction}`;
}
