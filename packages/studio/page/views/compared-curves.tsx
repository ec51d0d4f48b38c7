import { useMemo } from 'preact/hooks';
import { smooth } from '@agentjet/run-folder/curve';
import { letterOf } from '../../src/page-logic/compare-runs.js';
import { groupMetrics } from '../../src/page-logic/metric-groups.js';
import type { RunSummary } from '../../src/wire.js';
import { Choice, Panel } from '../parts/basics.js';
import { LineChart, type Line } from '../parts/line-chart.js';
import { route, runData, setQuery, type Metrics } from '../state/store.js';

const usual = ['reward_mean', 'success_rate', 'loss', 'entropy', 'kl', 'grad_norm'];

const numColours = 8;
const dashes: readonly (readonly number[] | undefined)[] = [undefined, [6, 3], [2, 3], [9, 3, 2, 3]];

const colourOf = (at: number): string => `run-${(at % numColours) + 1}`;

/** Shows the letter of a run in the colour of its curves. */
export function RunSign({ at }: { readonly at: number }) {
  return (
    <b class="run-sign" style={{ borderColor: `var(--${colourOf(at)})` }}>
      {letterOf(at)}
    </b>
  );
}

/** Shows the curves of several runs in one chart, by step. */
export function ComparedCurves({ runs }: { readonly runs: readonly RunSummary[] }) {
  const metrics = runs.map(({ id }) => runData(id).metrics.value.value);
  const known = metrics.filter((each) => each !== undefined);
  const wanted = route.value.query['metric'] ?? '';
  const all = groupMetrics(known.flatMap(({ steps }) => steps)).flatMap((group) => group.metrics);
  const shown = wanted === '' ? usual.filter((name) => all.includes(name)) : [wanted];
  return (
    <Panel
      title="Curves"
      note={
        <Choice
          label="Metric"
          value={wanted}
          options={[['', 'the usual ones'], ...all.map((name) => [name, name] as const)]}
          onChange={(metric) => setQuery({ metric })}
        />
      }
    >
      {known.length < runs.length && <p class="loading">Loading…</p>}
      <div class="charts">
        {shown.map((name) => (
          <Overlaid key={name} name={name} metrics={metrics} />
        ))}
      </div>
    </Panel>
  );
}

type OverlaidProps = { readonly name: string; readonly metrics: readonly (Metrics | undefined)[] };

function Overlaid({ name, metrics }: OverlaidProps) {
  const [steps, lines] = useMemo(() => {
    const sides = metrics.map((each) => new Map((each?.steps ?? []).map((line) => [line.step, line[name]])));
    const all = [...new Set(sides.flatMap((side) => [...side.keys()]))].sort((a, b) => a - b);
    const window = Math.max(1, Math.min(15, Math.round(all.length / 10)));
    const shown = sides.map((side, at): Line => {
      const values = all.map((step) => side.get(step) ?? null);
      const dash = dashes[at % dashes.length];
      return {
        name: letterOf(at),
        colour: colourOf(at),
        values: smooth(values, window),
        ...(dash !== undefined && { dash }),
      };
    });
    return [all, shown] as const;
  }, [name, ...metrics]);
  return <LineChart title={name} steps={steps} lines={lines} />;
}
