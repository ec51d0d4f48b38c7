import { useEffect, useRef } from 'preact/hooks';
import uPlot from 'uplot';
import { showNumber } from '../../src/page-logic/format.js';
import { colour, theme } from '../state/theme.js';

export type Line = {
  readonly name: string;
  readonly colour: string;
  readonly values: readonly (number | null)[];
  readonly dash?: readonly number[];
  readonly isFaint?: boolean;
  readonly hasPoints?: boolean;
};

type ChartProps = {
  readonly title: string;
  readonly steps: readonly number[];
  readonly lines: readonly Line[];
  readonly isLog?: boolean;
  readonly height?: number;
  readonly onStep?: (step: number) => void;
};

/** Charts with this key share their cursor. */
const sync = uPlot.sync('steps');

/** Curves over steps. The cursor is shared by all charts, dragging zooms, and a click leads to a step. */
export function LineChart({ title, steps, lines, isLog = false, height = 190, onStep }: ChartProps) {
  const place = useRef<HTMLDivElement>(null);
  const chart = useRef<uPlot | null>(null);
  const shape = JSON.stringify([
    lines.map(({ name, colour: ink }) => [name, ink]),
    isLog,
    theme.value,
    steps.length > 0,
  ]);
  const click = useRef(onStep);
  click.current = onStep;
  useEffect(() => {
    const element = place.current;
    if (element === null || steps.length === 0) return undefined;
    const plot = new uPlot(
      optionsOf({ width: element.clientWidth, height, lines, isLog }),
      toData(steps, lines),
      element,
    );
    chart.current = plot;
    const onClick = (): void => {
      const at = plot.cursor.idx;
      const step = typeof at === 'number' ? plot.data[0][at] : undefined;
      if (step !== undefined && plot.select.width === 0) click.current?.(step);
    };
    plot.over.addEventListener('click', onClick);
    const resized = new ResizeObserver(() => plot.setSize({ width: element.clientWidth, height }));
    resized.observe(element);
    return () => {
      resized.disconnect();
      plot.destroy();
      chart.current = null;
    };
  }, [shape]);
  useEffect(() => chart.current?.setData(toData(steps, lines)), [steps, lines]);
  return (
    <figure class={`chart ${onStep === undefined ? '' : 'clickable'}`}>
      <figcaption>
        <b>{title}</b>
        {lines.length > 1 && (
          <span class="legend">
            {lines.map(({ name, colour: ink, dash, hasPoints, isFaint }) => (
              <span key={name} class={isFaint === true ? 'faint' : ''}>
                <i
                  class={hasPoints === true ? 'point' : ''}
                  style={{
                    borderTopColor: `var(--${ink})`,
                    borderTopStyle: dash === undefined ? 'solid' : (dash[0] ?? 0) < 4 ? 'dotted' : 'dashed',
                  }}
                />
                {name}
              </span>
            ))}
          </span>
        )}
      </figcaption>
      <div
        ref={place}
        class="plot"
        style={{ height: `${height}px` }}
        role="img"
        aria-label={describe(title, steps, lines)}
      />
    </figure>
  );
}

function describe(title: string, steps: readonly number[], lines: readonly Line[]): string {
  const ends = lines.map(({ name, values }) => `${name} ${showNumber(lastOf(values))}`).join(', ');
  return `${title}: ${steps.length} steps, at the end ${ends}`;
}

const lastOf = (values: readonly (number | null)[]): number | null =>
  values.findLast((value) => value !== null) ?? null;

const toData = (steps: readonly number[], lines: readonly Line[]): uPlot.AlignedData => [
  steps as number[],
  ...lines.map(({ values }) => values as (number | null)[]),
];

type Shape = {
  readonly width: number;
  readonly height: number;
  readonly lines: readonly Line[];
  readonly isLog: boolean;
};

function optionsOf({ width, height, lines, isLog }: Shape): uPlot.Options {
  const axis = {
    stroke: colour('muted'),
    font: '11px system-ui, sans-serif',
    grid: { stroke: colour('grid'), width: 1 },
    ticks: { show: false },
  };
  return {
    width,
    height,
    legend: { show: false },
    padding: [8, 10, 0, 0],
    cursor: {
      sync: { key: sync.key, setSeries: false },
      points: { size: 7 },
      drag: { x: true, y: false },
      focus: { prox: 24 },
    },
    plugins: [tooltip(lines)],
    scales: { x: { time: false }, y: { distr: isLog ? 3 : 1 } },
    axes: [
      { ...axis, size: 26, space: 60, grid: { show: false }, values: (_plot, ticks) => ticks.map(formatStep) },
      {
        ...axis,
        size: widthOf,
        space: 34,
        values: (_plot, ticks) => ticks.map((tick) => (tick === null ? '' : showNumber(tick))),
      },
    ],
    series: [
      {},
      ...lines.map(({ name, colour: ink, dash, isFaint, hasPoints }) => ({
        label: name,
        stroke: colour(ink),
        width: isFaint === true ? 1 : 1.75,
        alpha: isFaint === true ? 0.35 : 1,
        spanGaps: true,
        // Points are not joined, because nothing was measured between two evaluations.
        ...(hasPoints === true && { paths: () => null }),
        points: { show: hasPoints === true, size: 6, fill: colour(ink) },
        ...(dash === undefined ? {} : { dash: [...dash] }),
      })),
    ],
  };
}

/** Room for the longest label. */
const widthOf = (_plot: uPlot, labels: readonly string[] | null): number =>
  Math.max(40, 14 + 6.6 * Math.max(0, ...(labels ?? []).map(({ length }) => length)));

const formatStep = (tick: number): string => (Number.isInteger(tick) ? String(tick) : '');

/** A box with the step and the values under the cursor. */
function tooltip(lines: readonly Line[]): uPlot.Plugin {
  const box = document.createElement('div');
  box.className = 'tip';
  box.hidden = true;
  const show = (plot: uPlot): void => {
    const { idx, left = 0 } = plot.cursor;
    box.hidden = typeof idx !== 'number' || left < 0;
    if (typeof idx !== 'number' || box.hidden) return;
    box.replaceChildren(textLine(`step ${plot.data[0][idx]}`), ...lines.flatMap((line) => toTipLine(line, idx)));
    const isRight = left > plot.over.clientWidth / 2;
    box.style.left = isRight ? '' : `${left + 12}px`;
    box.style.right = isRight ? `${plot.over.clientWidth - left + 12}px` : '';
  };
  return { hooks: { init: (plot) => plot.over.append(box), setCursor: show } };
}

function toTipLine({ name, colour: ink, values }: Line, at: number): readonly HTMLElement[] {
  const value = values[at];
  if (value === null || value === undefined) return [];
  const line = textLine(`${name} ${showNumber(value)}`);
  line.style.color = `var(--${ink})`;
  return [line];
}

function textLine(text: string): HTMLElement {
  const line = document.createElement('div');
  line.textContent = text;
  return line;
}
