import { useEffect, useMemo } from 'preact/hooks';
import { showCount, showRate, showSigned } from '../../src/page-logic/format.js';
import { smooth } from '@agentjet/run-folder/curve';
import { groupMetrics } from '../../src/page-logic/metric-groups.js';
import type { RunOverview, TaskChange } from '../../src/wire.js';
import { Choice, Empty, Link, Panel, Problem, Words } from '../parts/basics.js';
import { IntervalChart } from '../parts/interval-chart.js';
import { LineChart, type Line } from '../parts/line-chart.js';
import { answerOf, route, runData, setQuery, type Metrics } from '../state/store.js';

/** Two runs side by side: settings that differ, success, curves over one another, tasks that only one of them solves. */
export function Compare() {
  const ids = (route.value.query['runs'] ?? '').split(',').slice(0, 2);
  const [a = '', b = ''] = ids;
  useEffect(() => ids.forEach((id) => runData(id).needMetrics()), [a, b]);
  if (a === '' || b === '') return <Empty>Choose two runs in the table of runs.</Empty>;
  const [left, right] = ids.map((id) => answerOf<RunOverview>(`runs/${id}`).value);
  const error = left?.error ?? right?.error;
  return (
    <div class="page">
      <div class="bar">
        <h1>Compare</h1>
        <Link to={{ view: 'runs' }} class="button">
          Choose others
        </Link>
      </div>
      {left?.value === undefined || right?.value === undefined ? (
        error === undefined ? (
          <p class="loading">Loading…</p>
        ) : (
          <Problem text={error} />
        )
      ) : (
        <Body left={left.value} right={right.value} />
      )}
    </div>
  );
}

type Pair = { readonly left: RunOverview; readonly right: RunOverview };

function Body({ left, right }: Pair) {
  return (
    <>
      <div class="columns">
        {[left, right].map(({ run, evaluations }, side) => (
          <Panel
            key={run.id}
            title={`${side === 0 ? 'A' : 'B'}: ${run.experiment}`}
            note={<Link to={{ view: 'overview', run: run.id }}>{run.name}</Link>}
          >
            {evaluations.length === 0 ? <Empty>Nothing was evaluated.</Empty> : <IntervalChart points={evaluations} />}
          </Panel>
        ))}
      </div>
      <Settings left={left} right={right} />
      <Curves left={left} right={right} />
      <Tasks left={left} right={right} />
    </>
  );
}

function Settings({ left, right }: Pair) {
  const names = [...new Set([...Object.keys(left.settings), ...Object.keys(right.settings)])];
  const changed = names.filter((name) => left.settings[name] !== right.settings[name]);
  return (
    <Panel title="Settings that differ" note={changed.length === 0 ? 'none' : String(changed.length)}>
      {changed.length > 0 && (
        <div class="scroll-x" tabIndex={0} role="region" aria-label="Settings that differ">
          <table class="table mono">
            <thead>
              <tr>
                <th scope="col">Setting</th>
                <th scope="col">A</th>
                <th scope="col">B</th>
              </tr>
            </thead>
            <tbody>
              {changed.map((name) => (
                <tr key={name}>
                  <th scope="row">{name}</th>
                  <td>
                    <Words text={left.settings[name] ?? '–'} />
                  </td>
                  <td>
                    <Words text={right.settings[name] ?? '–'} />
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </Panel>
  );
}

const usual = ['reward_mean', 'success_rate', 'loss', 'entropy', 'kl', 'grad_norm'];

function Curves({ left, right }: Pair) {
  const [one, other] = [left, right].map(({ run }) => runData(run.id).metrics.value.value);
  if (one === undefined || other === undefined) return <p class="loading">Loading…</p>;
  const wanted = route.value.query['metric'] ?? '';
  const all = groupMetrics([...one.steps, ...other.steps]).flatMap(({ metrics }) => metrics);
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
      <div class="charts">
        {shown.map((name) => (
          <Overlaid key={name} name={name} one={one} other={other} />
        ))}
      </div>
    </Panel>
  );
}

function Overlaid({ name, one, other }: { readonly name: string; readonly one: Metrics; readonly other: Metrics }) {
  const [steps, lines] = useMemo(() => {
    const sides = [one, other].map(({ steps: all }) => new Map(all.map((line) => [line.step, line[name]])));
    const all = [...new Set(sides.flatMap((side) => [...side.keys()]))].sort((a, b) => a - b);
    const window = Math.max(1, Math.min(15, Math.round(all.length / 10)));
    const shown = sides.map(
      (side, at): Line => ({
        name: at === 0 ? 'A' : 'B',
        colour: at === 0 ? 'accent' : 'second',
        values: smooth(
          all.map((step) => side.get(step) ?? null),
          window,
        ),
        ...(at === 1 && { dash: [6, 3] }),
      }),
    );
    return [all, shown] as const;
  }, [name, one, other]);
  return <LineChart title={name} steps={steps} lines={lines} />;
}

const maxTasks = 60;

function Tasks({ left, right }: Pair) {
  const ofRight = new Map(right.tasks.map((task) => [task.task, task]));
  const pairs = left.tasks.flatMap((task) => {
    const other = ofRight.get(task.task);
    return other === undefined ? [] : [{ task: task.task, a: lastRate(task), b: lastRate(other) }];
  });
  const apart = pairs.filter(({ a, b }) => a !== null && b !== null && a !== b);
  return (
    <Panel title="Tasks that only one of them solves" note={`${showCount(pairs.length, 'task')} in both`}>
      {apart.length === 0 ? (
        <Empty>{pairs.length === 0 ? 'They have no task in common.' : 'Both solve the same tasks.'}</Empty>
      ) : (
        <div class="scroll-x" tabIndex={0} role="region" aria-label="Tasks that differ">
          <table class="table">
            <thead>
              <tr>
                <th scope="col">Task</th>
                <th scope="col" class="num">
                  A
                </th>
                <th scope="col" class="num">
                  B
                </th>
                <th scope="col" class="num">
                  B − A
                </th>
              </tr>
            </thead>
            <tbody>
              {apart.slice(0, maxTasks).map(({ task, a, b }) => (
                <tr key={task}>
                  <th scope="row" class="mono">
                    {task}
                  </th>
                  <td class="num">
                    <Link to={{ view: 'task', run: left.run.id, item: task }}>{showRate(a)}</Link>
                  </td>
                  <td class="num">
                    <Link to={{ view: 'task', run: right.run.id, item: task }}>{showRate(b)}</Link>
                  </td>
                  <td class={`num ${(b ?? 0) > (a ?? 0) ? 'good' : 'bad'}`}>{showSigned((b ?? 0) - (a ?? 0))}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
      {apart.length > maxTasks && (
        <p class="muted">
          The first {maxTasks} of {apart.length} are shown.
        </p>
      )}
    </Panel>
  );
}

function lastRate({ before, after }: TaskChange): number | null {
  const trials = after ?? before;
  return trials === null || trials.trials === 0 ? null : trials.successes / trials.trials;
}
