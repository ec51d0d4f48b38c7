import { signal } from '@preact/signals';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { selectRows, type EpisodeStore } from '../../src/page-logic/episode-store.js';
import { showCount, showNumber, showRate, showSeconds } from '../../src/page-logic/format.js';
import type { OutcomeInWords } from '@agentjet/run-folder';
import type { Outcomes, SearchResult } from '../../src/wire.js';
import { Choice, Empty, Link, Result, Shown, Words } from '../parts/basics.js';
import { useKeys } from '../parts/keyboard.js';
import { Scroller, useVirtualRows } from '../parts/virtual-rows.js';
import { answerOf, go, route, runData, setQuery, source } from '../state/store.js';

/** The table of all episodes of a run. Filters and order are in the address. */
export function Episodes() {
  const { run } = route.value;
  useEffect(() => runData(run).needEpisodes(), [run]);
  return (
    <div class="page wide">
      <Shown of={runData(run).episodes}>
        {({ store, version }) => <Body run={run} store={store} version={version} />}
      </Shown>
    </div>
  );
}

type BodyProps = { readonly run: string; readonly store: EpisodeStore; readonly version: number };

function Body({ run, store, version }: BodyProps) {
  const { query } = route.value;
  const found = useSearch(run, query['find'] ?? '', query['step'] ?? '');
  const rows = useMemo(() => selectRows(store, query, found?.refs), [store, version, query, found]);
  return (
    <>
      <Filters store={store} version={version} />
      <p class="muted count" role="status">
        {rows.length !== store.length && `${showNumber(rows.length)} of `}
        {showCount(store.length, 'episode')}
        {found?.isCut === true && '; the search read only the newest ones'}
        {query['find'] && found === undefined && ', searching …'}
      </p>
      {rows.length === 0 ? (
        <Empty>No episode matches these filters.</Empty>
      ) : (
        <Table run={run} store={store} rows={rows} />
      )}
    </>
  );
}

/** The server searches in texts, which the table does not have. */
function useSearch(
  run: string,
  words: string,
  step: string,
): { readonly refs: ReadonlySet<string>; readonly isCut: boolean } | undefined {
  const [settled, settle] = useState(words);
  useEffect(() => {
    const timer = setTimeout(() => settle(words), 250);
    return () => clearTimeout(timer);
  }, [words]);
  const path = `runs/${run}/search?words=${encodeURIComponent(settled)}&step=${step}`;
  const result = settled === '' ? undefined : answerOf<SearchResult>(path).value.value;
  return useMemo(() => result && { refs: new Set(result.refs), isCut: result.isCut }, [result]);
}

function Filters({ store, version }: { readonly store: EpisodeStore; readonly version: number }) {
  const { query } = route.value;
  const kinds = useMemo(() => [...new Set(store.kind)].filter((kind) => kind !== '').sort(), [store, version]);
  const steps = useMemo(() => [...new Set(store.step)].sort((a, b) => a - b), [store, version]);
  const counts = useMemo(() => countTroubles(store), [store, version]);
  return (
    <div class="bar filters">
      <h1>Episodes</h1>
      {!source.current.isExport && (
        <input
          type="search"
          placeholder="Search questions, answers, errors"
          aria-label="Search questions, answers, reasons and errors"
          value={query['find'] ?? ''}
          onInput={({ currentTarget }) => setQuery({ find: currentTarget.value })}
        />
      )}
      <Choice
        label="Phase"
        value={query['phase'] ?? ''}
        options={[
          ['', 'all'],
          ['train', 'training'],
          ['evaluation', 'evaluation'],
        ]}
        onChange={(phase) => setQuery({ phase })}
      />
      <Choice
        label="Result"
        value={query['result'] ?? ''}
        options={[
          ['', 'all'],
          ['success', 'success'],
          ['failure', 'failure'],
          ['error', 'error'],
          ['cut', 'answer cut'],
          ['fork', 'forked'],
          ...(counts.toolErrors > 0 || query['result'] === 'tool-error'
            ? [['tool-error', `tool error (${showNumber(counts.toolErrors)})`] as const]
            : []),
          ...(counts.refused > 0 || query['result'] === 'refused'
            ? [['refused', `call refused (${showNumber(counts.refused)})`] as const]
            : []),
        ]}
        onChange={(result) => setQuery({ result })}
      />
      <Choice
        label="Step"
        value={query['step'] ?? ''}
        options={[['', 'all'], ...steps.map((step) => [String(step), String(step)] as const)]}
        onChange={(step) => setQuery({ step })}
      />
      {kinds.length > 1 && (
        <Choice
          label="Kind"
          value={query['kind'] ?? ''}
          options={[['', 'all'], ...kinds.map((kind) => [kind, kind] as const)]}
          onChange={(kind) => setQuery({ kind })}
        />
      )}
      {(['task', 'group'] as const).map(
        (name) =>
          query[name] !== undefined && (
            <button key={name} type="button" class="pill" onClick={() => setQuery({ [name]: '' })}>
              {name} <Words text={query[name] ?? ''} /> ×
            </button>
          ),
      )}
    </div>
  );
}

/** Episodes with an error of a tool, and with a call that could not be used. Both are offered as filters only if there are some. */
function countTroubles(store: EpisodeStore): { readonly toolErrors: number; readonly refused: number } {
  const count = (values: readonly number[]): number => values.filter((value) => value > 0).length;
  return { toolErrors: count(store.toolErrors), refused: count(store.refused) };
}

type Column = { readonly name: string; readonly title: string; readonly class: string; readonly sort?: string };

const columns: readonly Column[] = [
  { name: 'question', title: 'Question', class: 'c-question', sort: 'task' },
  { name: 'expected', title: 'Expected', class: 'c-expected' },
  { name: 'answered', title: 'Answered', class: 'c-answered' },
  { name: 'reward', title: 'Reward', class: 'c-reward num', sort: 'reward' },
  { name: 'result', title: 'Result', class: 'c-result' },
  { name: 'reason', title: 'Reason', class: 'c-reason' },
  { name: 'kind', title: 'Kind', class: 'c-kind', sort: 'kind' },
  { name: 'phase', title: 'Phase', class: 'c-phase' },
  { name: 'step', title: 'Step', class: 'c-step num', sort: 'step' },
  { name: 'tokens', title: 'Tokens', class: 'c-tokens num', sort: 'tokens' },
  { name: 'seconds', title: 'Time', class: 'c-seconds num', sort: 'seconds' },
];

const rowHeight = 44;
const chosen = signal(0);

function Table({
  run,
  store,
  rows,
}: {
  readonly run: string;
  readonly store: EpisodeStore;
  readonly rows: Int32Array;
}) {
  const scroller = useRef<HTMLDivElement>(null);
  const { rows: visible, totalSize, scrollTo } = useVirtualRows(scroller, rows.length, rowHeight);
  const outcomes = useOutcomes(
    run,
    visible.map(({ index }) => store.refOf(rows[index] ?? 0)),
  );
  const move = (by: number): void => {
    chosen.value = Math.max(0, Math.min(rows.length - 1, chosen.value + by));
    scrollTo(chosen.value);
  };
  const open = (): void => {
    const id = store.id[rows[chosen.value] ?? -1];
    if (id !== undefined) go({ view: 'episode', run, item: id });
  };
  useKeys(() => ({ j: () => move(1), k: () => move(-1), Enter: open, u: () => go({ view: 'overview', run }) }));
  return (
    <Scroller at={scroller} height="max(20rem, calc(100vh - 17rem))" label="Episodes">
      <div role="table" class="grid" aria-rowcount={rows.length + 1}>
        <div role="row" class="grid-head" aria-rowindex={1}>
          {columns.map((column) => (
            <Head key={column.name} column={column} />
          ))}
        </div>
        <div role="rowgroup" class="grid-body" style={{ height: `${totalSize}px` }}>
          {visible.map(({ index, start }) => {
            const row = rows[index] ?? 0;
            return (
              <Row
                key={row}
                {...{ run, store, row, index, start }}
                outcome={outcomes[store.refOf(row)]}
                isChosen={index === chosen.value}
              />
            );
          })}
        </div>
      </div>
    </Scroller>
  );
}

function Head({ column: { title, sort, class: name } }: { readonly column: Column }) {
  const present = route.value.query['sort'] ?? '';
  if (sort === undefined)
    return (
      <div role="columnheader" class={name}>
        {title}
      </div>
    );
  const direction = present === sort ? 'ascending' : present === `-${sort}` ? 'descending' : 'none';
  const next = direction === 'none' ? `-${sort}` : direction === 'descending' ? sort : '';
  return (
    <div role="columnheader" class={name} aria-sort={direction}>
      <button type="button" onClick={() => setQuery({ sort: next })}>
        {title}
        <i aria-hidden="true">{direction === 'ascending' ? '↑' : direction === 'descending' ? '↓' : ''}</i>
      </button>
    </div>
  );
}

type RowProps = {
  readonly run: string;
  readonly store: EpisodeStore;
  readonly row: number;
  readonly index: number;
  readonly start: number;
  readonly outcome: OutcomeInWords | undefined;
  readonly isChosen: boolean;
};

function Row({ run, store, row, index, start, outcome, isChosen }: RowProps) {
  const { question, expected = '–', answered, reason, error } = outcome ?? {};
  const toolError = outcome?.first_tool_error ?? outcome?.first_swallowed_error;
  const id = store.id[row] ?? '';
  return (
    <div
      role="row"
      class={`grid-row ${isChosen ? 'chosen' : ''}`}
      aria-rowindex={index + 2}
      style={{ transform: `translateY(${start}px)`, height: `${rowHeight}px` }}
      onClick={() => {
        chosen.value = index;
        go({ view: 'episode', run, item: id });
      }}
    >
      <div role="cell" class="c-question">
        <Link to={{ view: 'episode', run, item: id }}>
          <Words text={question ?? store.task[row] ?? id} />
        </Link>
        <small class="mono">{store.task[row]}</small>
      </div>
      <div role="cell" class="c-expected">
        {outcome !== undefined && <Words text={expected} />}
      </div>
      <div role="cell" class="c-answered">
        {outcome !== undefined && <Words text={answered ?? '–'} />}
      </div>
      <div role="cell" class="c-reward num">
        {showRate(store.reward[row])}
      </div>
      <div role="cell" class="c-result">
        <Result isSuccess={store.success[row] === 1} error={store.error[row] ?? ''} />
        <Troubles toolErrors={store.toolErrors[row] ?? 0} refused={store.refused[row] ?? 0} />
      </div>
      <div role="cell" class="c-reason">
        {outcome !== undefined && <Words text={error ?? reason ?? toolError ?? '–'} />}
      </div>
      <div role="cell" class="c-kind">
        <Words text={store.kind[row] || '–'} />
      </div>
      <div role="cell" class="c-phase">
        {store.evaluation[row] === 1 ? 'evaluation' : 'training'}
      </div>
      <div role="cell" class="c-step num">
        {store.step[row]}
      </div>
      <div role="cell" class="c-tokens num">
        {store.tokens[row]}
        {(store.cut[row] ?? 0) > 0 && <span class="warn"> cut</span>}
      </div>
      <div role="cell" class="c-seconds num">
        {showSeconds(store.seconds[row])}
      </div>
    </div>
  );
}

function Troubles({ toolErrors, refused }: { readonly toolErrors: number; readonly refused: number }) {
  const words = [
    ...(toolErrors > 0 ? [showCount(toolErrors, 'tool error')] : []),
    ...(refused > 0 ? [showCount(refused, 'refused call')] : []),
  ];
  return words.length === 0 ? null : <small class="warn">{words.join(', ')}</small>;
}

/** Texts of the rows on the screen, read in blocks while scrolling pauses. */
function useOutcomes(run: string, refs: readonly string[]): Outcomes {
  const [known, setKnown] = useState<Outcomes>({});
  const wanted = refs.filter((ref) => known[ref] === undefined).join(',');
  useEffect(() => {
    if (wanted === '') return undefined;
    const timer = setTimeout(() => {
      void source.current.read(`runs/${run}/outcomes?refs=${wanted}`).then(
        (found) =>
          setKnown((before) => ({
            ...before,
            ...Object.fromEntries(wanted.split(',').map((ref) => [ref, {}])),
            ...(found as Outcomes),
          })),
        () => undefined, // the rows stay without texts until the next scroll
      );
    }, 40);
    return () => clearTimeout(timer);
  }, [wanted]);
  return known;
}
