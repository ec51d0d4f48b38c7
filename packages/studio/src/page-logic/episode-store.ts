import type { EpisodesChunk, NamedColumn } from '../wire.js';

/** The rows of a run's episodes as columns. Chunks are appended as the run grows. */
export class EpisodeStore {
  cursor = '';
  length = 0;
  readonly id: string[] = [];
  readonly offset: number[] = [];
  readonly step: number[] = [];
  readonly evaluation: number[] = [];
  readonly reward: (number | null)[] = [];
  readonly success: number[] = [];
  readonly scored: number[] = [];
  readonly repeat: number[] = [];
  readonly tokens: number[] = [];
  readonly trained: number[] = [];
  readonly seconds: number[] = [];
  readonly calls: number[] = [];
  readonly cut: number[] = [];
  readonly refused: number[] = [];
  readonly toolErrors: number[] = [];
  readonly task: string[] = [];
  readonly group: string[] = [];
  readonly kind: string[] = [];
  readonly error: string[] = [];
  readonly forks: string[] = [];
  readonly agents: string[] = [];

  append(chunk: EpisodesChunk): void {
    if (chunk.isReset) this.#clear();
    for (const name of plain) for (const value of chunk[name]) (this[name] as unknown[]).push(value);
    for (const name of named) spread(chunk[name], this[name]);
    this.length += chunk.length;
    this.cursor = chunk.cursor;
  }

  /** Returns the name under which the server knows a row. */
  refOf(row: number): string {
    return `${this.step[row]}.${this.offset[row]}`;
  }

  #clear(): void {
    for (const name of [...plain, ...named]) this[name].length = 0;
    this.length = 0;
  }
}

const plain = [
  'id',
  'offset',
  'step',
  'evaluation',
  'reward',
  'success',
  'scored',
  'repeat',
  'tokens',
  'trained',
  'seconds',
  'calls',
  'cut',
  'refused',
  'toolErrors',
] as const;
const named = ['task', 'group', 'kind', 'error', 'forks', 'agents'] as const;

function spread({ names, at }: NamedColumn, target: string[]): void {
  for (const place of at) target.push(names[place] ?? '');
}

/** What the address says about the rows: filters, and the column to sort by, with a minus for descending. */
export type EpisodeFilter = {
  readonly phase?: string;
  readonly result?: string;
  readonly step?: string;
  readonly kind?: string;
  readonly task?: string;
  readonly group?: string;
  readonly episode?: string;
  readonly sort?: string;
};

/** The rows that a filter keeps, in its order. `refs` are the rows that a search found. */
export function selectRows(store: EpisodeStore, filter: EpisodeFilter, refs?: ReadonlySet<string>): Int32Array {
  const tests = testsOf(store, filter);
  if (refs !== undefined) tests.push((row) => refs.has(store.refOf(row)));
  const kept = new Int32Array(store.length);
  let count = 0;
  for (let row = 0; row < store.length; row++) if (tests.every((test) => test(row))) kept[count++] = row;
  return sortRows(store, kept.subarray(0, count), filter.sort ?? '');
}

type Test = (row: number) => boolean;

const results: Readonly<Record<string, (store: EpisodeStore) => Test>> = {
  success: (store) => (row) => store.success[row] === 1,
  failure: (store) => (row) => store.success[row] === 0 && store.scored[row] === 1,
  error: (store) => (row) => store.error[row] !== '',
  cut: (store) => (row) => (store.cut[row] ?? 0) > 0,
  fork: (store) => (row) => store.forks[row] !== '',
  'tool-error': (store) => (row) => (store.toolErrors[row] ?? 0) > 0,
  refused: (store) => (row) => (store.refused[row] ?? 0) > 0,
};

function testsOf(store: EpisodeStore, filter: EpisodeFilter): Test[] {
  const { phase, result, step, kind, task, group, episode } = filter;
  const tests: Test[] = [];
  if (phase === 'train') tests.push((row) => store.evaluation[row] === 0);
  if (phase === 'evaluation') tests.push((row) => store.evaluation[row] === 1);
  const byResult = results[result ?? '']?.(store);
  if (byResult !== undefined) tests.push(byResult);
  const wanted = Number(step);
  if (step !== undefined && step !== '' && Number.isInteger(wanted)) tests.push((row) => store.step[row] === wanted);
  if (kind) tests.push((row) => store.kind[row] === kind);
  if (task) tests.push((row) => store.task[row] === task);
  if (group) tests.push((row) => store.group[row] === group);
  if (episode) tests.push((row) => store.id[row] === episode);
  return tests;
}

const sortable = ['step', 'reward', 'tokens', 'seconds', 'calls', 'task', 'kind', 'repeat', 'toolErrors'] as const;

/** Rows with equal values keep their order, and missing values come last. */
function sortRows(store: EpisodeStore, rows: Int32Array, sort: string): Int32Array {
  const isDescending = sort.startsWith('-');
  const column = sortable.find((name) => name === sort.replace(/^-/, ''));
  if (column === undefined) return rows;
  const keys = column === 'task' || column === 'kind' ? ranksOf(store[column]) : toNumbers(store[column], isDescending);
  const sign = isDescending ? -1 : 1;
  return rows.slice().sort((a, b) => sign * ((keys[a] ?? 0) - (keys[b] ?? 0)) || a - b);
}

function toNumbers(values: readonly (number | null)[], isDescending: boolean): Float64Array {
  const missing = isDescending ? -Infinity : Infinity;
  return Float64Array.from(values, (value) => value ?? missing);
}

/** Sorting the different names once is much faster than comparing strings of all rows. */
function ranksOf(values: readonly string[]): Float64Array {
  const names = [...new Set(values)].sort((a, b) => a.localeCompare(b, 'en', { numeric: true }));
  const ranks = new Map(names.map((name, rank) => [name, rank]));
  return Float64Array.from(values, (value) => ranks.get(value) ?? 0);
}
