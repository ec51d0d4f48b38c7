/** Draws a line chart as SVG: two axes with round ticks, and a legend. It needs no library and no script. */

export type Series = {
  readonly name: string;
  readonly points: readonly { readonly x: number; readonly y: number }[];
  readonly color: string;
  /** `line` is the default, `faint` is a thin pale line, and `dots` is a line with a mark at each point. */
  readonly style?: 'line' | 'faint' | 'dots';
};

export type LineChart = {
  readonly title: string;
  readonly xLabel: string;
  readonly series: readonly Series[];
  /** Bounds that the y axis always includes. */
  readonly yRange?: readonly [number, number];
  readonly width?: number;
  readonly height?: number;
};

type Frame = { readonly left: number; readonly top: number; readonly right: number; readonly bottom: number };
type Scale = { readonly at: (value: number) => number; readonly ticks: readonly number[] };

/**
 * The maximum number of points in a line. More points cannot be distinguished at this size, so neighbours are averaged.
 */
const maxPoints = 400;

export function renderLineChart({ title, xLabel, series, yRange, width = 720, height = 360 }: LineChart): string {
  const frame: Frame = { left: 56, top: 64, right: width - 20, bottom: height - 44 };
  const shown = series.map((each) => ({ ...each, points: thinOut(each.points.filter(({ y }) => Number.isFinite(y))) }));
  const points = shown.flatMap((each) => each.points);
  const x = createScale(
    points.map((point) => point.x),
    [frame.left, frame.right],
    { count: 8, isWhole: true },
  );
  const y = createScale([...points.map((point) => point.y), ...(yRange ?? [])], [frame.bottom, frame.top], {
    count: 5,
    isWhole: false,
  });
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" font-family="system-ui, sans-serif" font-size="12" role="img" aria-label="${escapeXml(title)}">`,
    `<rect width="${width}" height="${height}" fill="#ffffff"/>`,
    `<text x="${frame.left}" y="24" font-size="15" font-weight="600" fill="#1f2328">${escapeXml(title)}</text>`,
    ...renderLegend(shown, frame),
    ...renderAxes({ x, y, frame, xLabel }),
    ...shown.map((each) => renderSeries(each, x, y)),
    '</svg>',
    '',
  ].join('\n');
}

function renderLegend(series: readonly Series[], frame: Frame): string[] {
  let left = frame.left;
  return series.map(({ name, color, style }) => {
    const at = left;
    left += 34 + name.length * 6.6;
    const opacity = style === 'faint' ? 0.35 : 1;
    return `<line x1="${at}" x2="${at + 16}" y1="43" y2="43" stroke="${color}" stroke-width="2.5" stroke-opacity="${opacity}"/><text x="${at + 21}" y="47" fill="#59636e">${escapeXml(name)}</text>`;
  });
}

function renderAxes({
  x,
  y,
  frame,
  xLabel,
}: {
  readonly x: Scale;
  readonly y: Scale;
  readonly frame: Frame;
  readonly xLabel: string;
}): string[] {
  return [
    ...y.ticks.map(
      (tick) =>
        `<line x1="${frame.left}" x2="${frame.right}" y1="${round(y.at(tick))}" y2="${round(y.at(tick))}" stroke="#d1d9e0" stroke-width="1"/><text x="${frame.left - 8}" y="${round(y.at(tick) + 4)}" text-anchor="end" fill="#59636e">${formatTick(tick)}</text>`,
    ),
    ...x.ticks.map(
      (tick) =>
        `<text x="${round(x.at(tick))}" y="${frame.bottom + 18}" text-anchor="middle" fill="#59636e">${formatTick(tick)}</text>`,
    ),
    `<line x1="${frame.left}" x2="${frame.right}" y1="${frame.bottom}" y2="${frame.bottom}" stroke="#818b98"/>`,
    `<text x="${(frame.left + frame.right) / 2}" y="${frame.bottom + 36}" text-anchor="middle" fill="#59636e">${escapeXml(xLabel)}</text>`,
  ];
}

function renderSeries({ points, color, style }: Series, x: Scale, y: Scale): string {
  const places = points.map((point) => [round(x.at(point.x)), round(y.at(point.y))] as const);
  const line = `<polyline fill="none" stroke="${color}" stroke-width="${style === 'faint' ? 1 : 2}" stroke-opacity="${style === 'faint' ? 0.35 : 1}" stroke-linejoin="round" points="${places.map((place) => place.join(',')).join(' ')}"/>`;
  const isMarked = style === 'dots' || places.length === 1;
  return isMarked
    ? [line, ...places.map(([cx, cy]) => `<circle cx="${cx}" cy="${cy}" r="3.5" fill="${color}"/>`)].join('')
    : line;
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

function thinOut(points: Series['points']): Series['points'] {
  const size = Math.ceil(points.length / maxPoints);
  if (size <= 1) return points;
  const mean = (values: readonly number[]) => values.reduce((a, b) => a + b, 0) / values.length;
  return Array.from({ length: Math.ceil(points.length / size) }, (_, index) => {
    const bucket = points.slice(index * size, (index + 1) * size);
    return { x: mean(bucket.map(({ x }) => x)), y: mean(bucket.map(({ y }) => y)) };
  });
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}

function formatTick(value: number): string {
  return Math.abs(value) >= 1e4 ? value.toExponential(0) : String(Number(value.toPrecision(6)));
}

export function escapeXml(text: string): string {
  const entities: Readonly<Record<string, string>> = {
    '&': '&amp;',
    '<': '&lt;',
    '>': '&gt;',
    '"': '&quot;',
    "'": '&#39;',
  };
  return text.replaceAll(/[&<>"']/g, (char) => entities[char] ?? char);
}
