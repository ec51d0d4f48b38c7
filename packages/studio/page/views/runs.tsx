import { signal } from '@preact/signals';
import { maxCompared } from '../../src/page-logic/compare-runs.js';
import { showAge, showNumber, showRate, showSeconds, showSigned } from '../../src/page-logic/format.js';
import type { RunList, RunSummary } from '../../src/wire.js';
import { Empty, Link, Shown, Spark, StateMark } from '../parts/basics.js';
import { useKeys } from '../parts/keyboard.js';
import { type Column, number, WideTable } from '../parts/table.js';
import { answerOf, go, route, setQuery, source } from '../state/store.js';

const chosen = signal(0);

/** The table of all runs below the folder. */
export function Runs() {
  const list = answerOf<RunList>('runs');
  return (
    <div class="page">
      <Shown of={list}>{(value) => <RunTable list={value} />}</Shown>
    </div>
  );
}

function RunTable({ list: { folder, runs } }: { readonly list: RunList }) {
  const { query } = route.value;
  const words = (query['find'] ?? '').toLowerCase();
  const picked = (query['pick'] ?? '').split(',').filter((id) => id !== '');
  const shown = runs.filter((run) =>
    `${run.path} ${run.model} ${run.backbone} ${run.state}`.toLowerCase().includes(words),
  );
  const canCompare = !source.current.isExport && runs.length > 1;
  useKeys(() => ({
    j: () => (chosen.value = Math.min(shown.length - 1, chosen.value + 1)),
    k: () => (chosen.value = Math.max(0, chosen.value - 1)),
    Enter: () => {
      const run = shown[chosen.value];
      if (run !== undefined) go({ view: 'overview', run: run.id });
    },
  }));
  const toggle = (id: string): void => {
    const next = picked.includes(id) ? picked.filter((each) => each !== id) : [...picked, id].slice(-maxCompared);
    setQuery({ pick: next.join(',') });
  };
  if (runs.length === 0)
    return (
      <Empty>
        There is no run in <code>{folder}</code> yet. A run appears here when it begins.
      </Empty>
    );
  return (
    <>
      <div class="bar">
        <h1>Runs</h1>
        <span class="muted mono folder">{folder}</span>
        <input
          type="search"
          placeholder="Filter"
          aria-label="Filter the runs"
          value={query['find'] ?? ''}
          onInput={({ currentTarget }) => setQuery({ find: currentTarget.value })}
        />
        {picked.length > 1 && (
          <Link to={{ view: 'compare', query: { runs: picked.join(',') } }} class="button primary">
            Compare {picked.length} runs
          </Link>
        )}
      </div>
      <WideTable label="Table of runs" look="runs" columns={columnsOf(canCompare)}>
        {shown.map((run, at) => (
          <Row
            key={run.id}
            run={run}
            isChosen={at === chosen.value}
            pick={canCompare ? { isPicked: picked.includes(run.id), toggle } : undefined}
          />
        ))}
      </WideTable>
      {shown.length === 0 && <Empty>No run matches this filter.</Empty>}
    </>
  );
}

const columnsOf = (canCompare: boolean): readonly Column[] => [
  ...(canCompare ? [<span class="sr">Choose to compare</span>] : []),
  'Run',
  'Success, before → after',
  'Reward',
  number('Step'),
  'State',
  'Model',
  number('Time'),
  number('Changed'),
];

type RowProps = {
  readonly run: RunSummary;
  readonly isChosen: boolean;
  readonly pick: { readonly isPicked: boolean; readonly toggle: (id: string) => void } | undefined;
};

function Row({ run, isChosen, pick }: RowProps) {
  return (
    <tr class={isChosen ? 'chosen' : ''}>
      {pick !== undefined && (
        <td>
          <input
            type="checkbox"
            checked={pick.isPicked}
            aria-label={`Compare ${run.path}`}
            onChange={() => pick.toggle(run.id)}
          />
        </td>
      )}
      <th scope="row">
        <Link to={{ view: 'overview', run: run.id }}>
          <b>{run.experiment}</b>
          <span class="muted mono">{run.name}</span>
        </Link>
      </th>
      <td>
        <Success run={run} />
      </td>
      <td>
        <span class="with-spark">
          <Spark values={run.spark} />
          <span class="num">{showRate(run.reward)}</span>
        </span>
      </td>
      <td class="num">
        {showNumber(run.step)}
        {run.totalSteps !== null && <span class="muted"> / {showNumber(run.totalSteps)}</span>}
        {run.totalSteps !== null && run.state === 'running' && (
          <progress max={run.totalSteps} value={run.step} aria-label={`Step ${run.step} of ${run.totalSteps}`} />
        )}
      </td>
      <td>
        <StateMark state={run.state} />
        {run.problem !== undefined && <div class="why">{run.problem}</div>}
      </td>
      <td>
        {run.model}
        <div class="muted">{run.backbone}</div>
      </td>
      <td class="num">{showSeconds(run.seconds)}</td>
      <td class="num muted">{showAge(run.updatedMs, Date.now())}</td>
    </tr>
  );
}

function Success({ run: { before, after, change } }: { readonly run: RunSummary }) {
  if (before === null) return <span class="muted">not measured</span>;
  if (after === null) return <span class="num">{showRate(before.rate)}</span>;
  const isApart =
    change === null ? after.low > before.high || after.high < before.low : change.low > 0 || change.high < 0;
  const tone = !isApart ? 'muted' : after.rate > before.rate ? 'good' : 'bad';
  return (
    <span>
      <span class="num">
        {showRate(before.rate)} → <b>{showRate(after.rate)}</b>
      </span>{' '}
      <span
        class={tone}
        title={isApart ? 'The interval of the change does not contain 0' : 'The interval of the change contains 0'}
      >
        {showSigned(after.rate - before.rate)}
        {!isApart && ' noise'}
      </span>
    </span>
  );
}
