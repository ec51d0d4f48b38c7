import { useEffect, useMemo, useState } from 'preact/hooks';
import { showNumber } from '../../src/page-logic/format.js';
import { smooth } from '@agentjet/run-folder/curve';
import { groupMetrics } from '../../src/page-logic/metric-groups.js';
import { Choice, Empty, Segments, Shown } from '../parts/basics.js';
import { LineChart, type Line } from '../parts/line-chart.js';
import { number, WideTable } from '../parts/table.js';
import { go, route, runData, setQuery, type Metrics } from '../state/store.js';

/** Every metric of a run, grouped by what it is about. */
export function Curves() {
  const { run } = route.value;
  useEffect(() => runData(run).needMetrics(), [run]);
  return (
    <div class="page">
      <Shown of={runData(run).metrics}>{(metrics) => <Charts metrics={metrics} run={run} />}</Shown>
    </div>
  );
}

function Charts({ metrics: { steps: lines, evaluations }, run }: { readonly metrics: Metrics; readonly run: string }) {
  const { query } = route.value;
  const words = (query['find'] ?? '').toLowerCase();
  const isLog = query['scale'] === 'log';
  const window = Number(query['smooth'] ?? 1) || 1;
  const groups = useMemo(() => groupMetrics([...lines, ...evaluations]), [lines, evaluations]);
  if (lines.length === 0 && evaluations.length === 0) return <Empty>No step is finished yet.</Empty>;
  const shown = groups
    .map(({ title, metrics }) => ({ title, metrics: metrics.filter((name) => name.toLowerCase().includes(words)) }))
    .filter(({ metrics }) => metrics.length > 0);
  return (
    <>
      <div class="bar">
        <h1>Curves</h1>
        <input
          type="search"
          placeholder="Find a metric"
          aria-label="Find a metric"
          value={query['find'] ?? ''}
          onInput={({ currentTarget }) => setQuery({ find: currentTarget.value })}
        />
        <Choice
          label="Smoothing"
          value={String(window)}
          options={[
            ['1', 'none'],
            ['5', '5 steps'],
            ['15', '15 steps'],
            ['45', '45 steps'],
          ]}
          onChange={(value) => setQuery({ smooth: value === '1' ? '' : value })}
        />
        <Segments
          label="Scale"
          value={isLog ? 'log' : 'linear'}
          options={[
            ['linear', 'Linear'],
            ['log', 'Log'],
          ]}
          onChange={(value) => setQuery({ scale: value === 'log' ? 'log' : '' })}
        />
      </div>
      <p class="muted hint">Drag to zoom, double-click to see all, click a point to open its step.</p>
      {shown.map(({ title, metrics }) => (
        <section key={title} class="metric-group">
          <h2>{title}</h2>
          <div class="charts">
            {metrics.map((name) => (
              <MetricChart key={name} {...{ name, lines, evaluations, run, isLog, window }} />
            ))}
          </div>
        </section>
      ))}
      {shown.length === 0 && <Empty>No metric has this name.</Empty>}
      <ValueTable metrics={shown.flatMap((group) => group.metrics)} lines={lines} evaluations={evaluations} />
    </>
  );
}

type MetricProps = {
  readonly name: string;
  readonly lines: Metrics['steps'];
  readonly evaluations: Metrics['evaluations'];
  readonly run: string;
  readonly isLog: boolean;
  readonly window: number;
};

function MetricChart({ name, lines, evaluations, run, isLog, window }: MetricProps) {
  const [steps, curves] = useMemo(() => {
    const trained = new Map(lines.map((line) => [line.step, line[name]]));
    const evaluated = new Map(evaluations.map((line) => [line.step, line[name]]));
    const hasTraining = [...trained.values()].some((value) => value !== undefined);
    const hasEvaluation = [...evaluated.values()].some((value) => value !== undefined);
    const all = [...new Set([...(hasTraining ? trained.keys() : []), ...(hasEvaluation ? evaluated.keys() : [])])].sort(
      (a, b) => a - b,
    );
    const positive = (value: number | undefined) => (value === undefined || (isLog && value <= 0) ? null : value);
    const ofTraining = all.map((step) => positive(trained.get(step)));
    const ofEvaluation = all.map((step) => positive(evaluated.get(step)));
    const shown: Line[] = [];
    if (hasTraining && window > 1)
      shown.push({ name: 'each step', colour: 'accent', values: ofTraining, isFaint: true });
    if (hasTraining)
      shown.push({ name: hasEvaluation ? 'training' : name, colour: 'accent', values: smooth(ofTraining, window) });
    if (hasEvaluation) shown.push({ name: 'evaluation', colour: 'second', values: ofEvaluation, hasPoints: true });
    return [all, shown] as const;
  }, [name, lines, evaluations, isLog, window]);
  return (
    <LineChart
      title={name}
      steps={steps}
      lines={curves}
      isLog={isLog}
      onStep={(step) => go({ view: 'step', run, item: String(step) })}
    />
  );
}

const maxRows = 200;

/** The same numbers as a table, for those who do not see the curves. */
function ValueTable({ metrics, lines, evaluations }: { readonly metrics: readonly string[] } & AllLines) {
  const [isOpen, setOpen] = useState(false);
  const rows = [
    ...lines.map((line) => ['step', line] as const),
    ...evaluations.map((line) => ['evaluation', line] as const),
  ].slice(-maxRows);
  return (
    <details class="values" onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary>The values as a table{lines.length > maxRows ? `, the last ${maxRows}` : ''}</summary>
      {isOpen && (
        <WideTable label="Values" columns={['Step', ...metrics.map(number)]}>
          {rows.map(([kind, line], at) => (
            <tr key={at}>
              <th scope="row">
                {line.step}
                {kind === 'evaluation' && <span class="muted"> evaluation</span>}
              </th>
              {metrics.map((name) => (
                <td key={name} class="num">
                  {showNumber(line[name])}
                </td>
              ))}
            </tr>
          ))}
        </WideTable>
      )}
    </details>
  );
}

type AllLines = { readonly lines: Metrics['steps']; readonly evaluations: Metrics['evaluations'] };
