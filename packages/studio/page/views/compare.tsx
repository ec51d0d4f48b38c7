import { useEffect, useMemo } from 'preact/hooks';
import {
  compareRuns,
  findSettingsApart,
  findTasksApart,
  isBeyondNoise,
  letterOf,
  maxCompared,
  type ComparedRun,
  type PairedChange,
} from '../../src/page-logic/compare-runs.js';
import { showCount, showRate, showSigned } from '../../src/page-logic/format.js';
import type { RunOverview } from '../../src/wire.js';
import { Empty, Link, Panel, Problem, Words } from '../parts/basics.js';
import { RateBar } from '../parts/rate-bar.js';
import { number, WideTable } from '../parts/table.js';
import { answerOf, route, runData } from '../state/store.js';
import { ComparedCurves, RunSign } from './compared-curves.js';

/** Compares runs: evaluations paired by task, settings that differ, curves in one chart, tasks that differ. */
export function Compare() {
  const chosen = route.value.query['runs'] ?? '';
  const ids = useMemo(
    () =>
      chosen
        .split(',')
        .filter((id) => id !== '')
        .slice(0, maxCompared),
    [chosen],
  );
  useEffect(() => ids.forEach((id) => runData(id).needMetrics()), [ids]);
  if (ids.length < 2) return <Empty>Choose at least two runs in the table of runs.</Empty>;
  const answers = ids.map((id) => answerOf<RunOverview>(`runs/${id}`).value);
  const overviews = answers.flatMap(({ value }) => value ?? []);
  const error = answers.find((answer) => answer.error !== undefined)?.error;
  return (
    <div class="page">
      <div class="bar">
        <h1>Compare {ids.length} runs</h1>
        <Link to={{ view: 'runs', query: { pick: chosen } }} class="button">
          Choose others
        </Link>
      </div>
      {error !== undefined && <Problem text={error} />}
      {overviews.length === ids.length ? (
        <Body overviews={overviews} />
      ) : (
        error === undefined && <p class="loading">Loading…</p>
      )}
    </div>
  );
}

type Runs = { readonly overviews: readonly RunOverview[] };

function Body({ overviews }: Runs) {
  return (
    <>
      <Evaluations overviews={overviews} />
      <ComparedCurves runs={overviews.map(({ run }) => run)} />
      <Settings overviews={overviews} />
      <Tasks overviews={overviews} />
    </>
  );
}

function Evaluations({ overviews }: Runs) {
  const runs = useMemo(() => compareRuns(overviews), [overviews]);
  return (
    <Panel title="Success in evaluations" note="95% intervals; changes are paired by task">
      <WideTable label="Evaluations" columns={['Run', 'First', 'Last', 'Change', 'Last, against A']}>
        {runs.map((run, at) => (
          <EvaluationRow key={run.letter} run={run} at={at} />
        ))}
      </WideTable>
    </Panel>
  );
}

function EvaluationRow({ run: { overview, first, last, change, against }, at }: { run: ComparedRun; at: number }) {
  const { id, experiment, name } = overview.run;
  const isOnce = first !== null && last !== null && first.step === last.step;
  return (
    <tr>
      <th scope="row">
        <RunSign at={at} />
        <Link to={{ view: 'overview', run: id }} class="run-name">
          {experiment} <span class="muted mono">{name}</span>
        </Link>
      </th>
      <td>
        <RateBar rate={first} />
        {first !== null && <div class="muted">step {first.step}</div>}
      </td>
      <td>
        <RateBar rate={isOnce ? null : last} />
        {last !== null && !isOnce && <div class="muted">step {last.step}</div>}
      </td>
      <td>
        <Change change={change} />
      </td>
      <td>{at === 0 ? <span class="muted">is A</span> : <Change change={against} />}</td>
    </tr>
  );
}

function Change({ change }: { readonly change: PairedChange | null }) {
  if (change === null) return <span class="muted">no task in common</span>;
  const { difference, low, high, tasks } = change;
  const tone = !isBeyondNoise(change) ? 'muted' : difference > 0 ? 'good' : 'bad';
  return (
    <span class="change">
      <b class={tone}>{showSigned(difference)}</b>{' '}
      <span class="muted">
        {showSigned(low)} to {showSigned(high)}
      </span>
      <div class="muted">
        {showCount(tasks, 'task')}
        {!isBeyondNoise(change) && ', within noise'}
      </div>
    </span>
  );
}

const letters = (count: number): readonly string[] => Array.from({ length: count }, (_none, at) => letterOf(at));

function Settings({ overviews }: Runs) {
  const apart = findSettingsApart(overviews);
  const ofAll = apart.filter(({ values }) => !values.includes(undefined));
  const ofSome = apart.filter(({ values }) => values.includes(undefined));
  return (
    <Panel title="Settings that differ" note={apart.length === 0 ? 'none' : String(apart.length)}>
      {ofAll.length > 0 && <SettingTable rows={ofAll} count={overviews.length} />}
      {ofSome.length > 0 && (
        <details>
          <summary>{showCount(ofSome.length, 'setting')} that only some of the runs have</summary>
          <SettingTable rows={ofSome} count={overviews.length} />
        </details>
      )}
    </Panel>
  );
}

type SettingRows = { readonly rows: ReturnType<typeof findSettingsApart>; readonly count: number };

function SettingTable({ rows, count }: SettingRows) {
  return (
    <WideTable label="Settings that differ" look="mono" columns={['Setting', ...letters(count)]}>
      {rows.map(({ name, values }) => (
        <tr key={name}>
          <th scope="row">{name}</th>
          {values.map((value, at) => (
            <td key={at}>
              <Words text={value ?? '–'} />
            </td>
          ))}
        </tr>
      ))}
    </WideTable>
  );
}

const maxTasks = 60;

function Tasks({ overviews }: Runs) {
  const { apart, shared } = useMemo(() => findTasksApart(overviews), [overviews]);
  return (
    <Panel title="Tasks on which they differ" note={`${showCount(shared, 'task')} in two or more`}>
      {apart.length === 0 ? (
        <Empty>{shared === 0 ? 'They have no task in common.' : 'All solve the same tasks.'}</Empty>
      ) : (
        <WideTable label="Tasks that differ" columns={['Task', ...letters(overviews.length).map(number)]}>
          {apart.slice(0, maxTasks).map(({ task, rates }) => (
            <tr key={task}>
              <th scope="row" class="mono">
                {task}
              </th>
              {rates.map((rate, at) => (
                <td key={at} class={`num ${rate === 1 ? 'good' : rate === 0 ? 'bad' : ''}`}>
                  {rate === null ? (
                    '–'
                  ) : (
                    <Link to={{ view: 'task', run: overviews[at]?.run.id ?? '', item: task }}>{showRate(rate)}</Link>
                  )}
                </td>
              ))}
            </tr>
          ))}
        </WideTable>
      )}
      {apart.length > maxTasks && (
        <p class="muted">
          The {maxTasks} that differ most of {apart.length} are shown.
        </p>
      )}
    </Panel>
  );
}
