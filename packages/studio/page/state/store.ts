import { signal, type Signal } from '@preact/signals';
import { formatRoute, parseRoute, type PageRoute } from '../../src/page-logic/route.js';
import { withoutUnmeasured } from '../../src/page-logic/metric-groups.js';
import { EpisodeStore } from '../../src/page-logic/episode-store.js';
import type { ChangeEvent, EpisodesChunk, MetricsChunk } from '../../src/wire.js';
import type { MetricsRecord } from '@agentjet/run-folder';
import type { Source } from './source.js';

/** What the page knows: its address, and what it has read. */

export const route = signal<PageRoute>(parseRoute(location.hash));
export const isLive = signal<boolean | undefined>(undefined);
export const source: { current: Source } = {
  current: {
    isExport: false,
    read: () => Promise.reject(new Error('not open')),
    ask: () => Promise.reject(new Error('not open')),
    follow: () => () => undefined,
  },
};

/** Opens a view if the address of the page names none. */
export function openAt(address = ''): void {
  if (address === '' || location.hash !== '') return;
  history.replaceState(null, '', address);
  route.value = parseRoute(address);
}

export function startRouting(): void {
  for (const moved of ['hashchange', 'popstate'])
    addEventListener(moved, () => {
      if (formatRoute(route.peek()) !== location.hash) shownBefore.value = undefined;
      route.value = parseRoute(location.hash);
    });
}

export function go(next: Partial<PageRoute> & Pick<PageRoute, 'view'>, { replaces = false } = {}): void {
  const address = formatRoute(next);
  if (replaces) history.replaceState(null, '', address);
  else history.pushState(null, '', address);
  route.value = parseRoute(address);
}

/** Changes filters in the address of the present view. An empty value removes one. */
export function setQuery(changes: Readonly<Record<string, string>>): void {
  const now = route.value;
  go({ ...now, query: { ...now.query, ...changes } }, { replaces: true });
}

export type Loaded<T> = { readonly value?: T; readonly error?: string };

const answers = new Map<string, Signal<Loaded<unknown>>>();
/** The newest answers are kept; older ones are read again. */
const maxAnswers = 60;

/** The answer of the server under this path. It is read once, and again after `reload`. */
export function answerOf<T>(path: string): Signal<Loaded<T>> {
  const known = answers.get(path);
  if (known !== undefined) return known as Signal<Loaded<T>>;
  const answer = signal<Loaded<unknown>>({});
  answers.set(path, answer);
  for (const old of [...answers.keys()].slice(0, -maxAnswers)) answers.delete(old);
  void load(path, answer);
  return answer as Signal<Loaded<T>>;
}

async function load(path: string, answer: Signal<Loaded<unknown>>): Promise<void> {
  try {
    answer.value = { value: await source.current.read(path) };
  } catch (error) {
    answer.value = { ...answer.peek(), error: error instanceof Error ? error.message : String(error) };
  }
}

/** Reads the answer of one path again. */
export const readAgain = (place: string): void => reload((path) => path === place);

/** Reads the answers with a matching path again. The old answers are shown until the new ones arrive. */
function reload(matches: (path: string) => boolean): void {
  for (const [path, answer] of answers) if (matches(path)) void load(path, answer);
}

export type Metrics = { readonly steps: readonly MetricsRecord[]; readonly evaluations: readonly MetricsRecord[] };

/** The metrics and episodes of a run. Only new lines are requested, and they are appended. */
export class RunData {
  readonly metrics = signal<Loaded<Metrics>>({});
  /** Grows with each change of the rows, because the store is changed in place. */
  readonly episodes = signal<Loaded<{ readonly store: EpisodeStore; readonly version: number }>>({});
  readonly #id: string;
  readonly #store = new EpisodeStore();
  #cursor = '';
  #metricsWork: Promise<void> | undefined;
  #episodesWork: Promise<void> | undefined;

  constructor(id: string) {
    this.#id = id;
  }

  needMetrics(): void {
    this.#metricsWork ??= this.#addMetrics();
  }

  needEpisodes(): void {
    this.#episodesWork ??= this.#addEpisodes();
  }

  /** Reads what is new, if the page shows the metrics. */
  refreshMetrics(): void {
    if (this.#metricsWork === undefined) return;
    this.#metricsWork = this.#metricsWork.then(() => this.#addMetrics());
  }

  refreshEpisodes(): void {
    if (this.#episodesWork === undefined) return;
    this.#episodesWork = this.#episodesWork.then(() => this.#addEpisodes());
  }

  async #addMetrics(): Promise<void> {
    try {
      const path = `runs/${this.#id}/metrics?after=${this.#cursor}`;
      const { cursor, isReset, steps, evaluations } = (await source.current.read(path)) as MetricsChunk;
      const before = isReset ? undefined : this.metrics.peek().value;
      this.#cursor = cursor;
      this.metrics.value = {
        value: {
          steps: [...(before?.steps ?? []), ...steps.map(withoutUnmeasured)],
          evaluations: [...(before?.evaluations ?? []), ...evaluations],
        },
      };
    } catch (error) {
      this.metrics.value = { ...this.metrics.peek(), error: String(error instanceof Error ? error.message : error) };
    }
  }

  async #addEpisodes(): Promise<void> {
    try {
      const path = `runs/${this.#id}/episodes?after=${this.#store.cursor}`;
      this.#store.append((await source.current.read(path)) as EpisodesChunk);
      this.episodes.value = {
        value: { store: this.#store, version: (this.episodes.peek().value?.version ?? 0) + 1 },
      };
    } catch (error) {
      this.episodes.value = { ...this.episodes.peek(), error: String(error instanceof Error ? error.message : error) };
    }
  }
}

const runs = new Map<string, RunData>();

export function runData(id: string): RunData {
  const known = runs.get(id) ?? new RunData(id);
  runs.set(id, known);
  return known;
}

/** Reads the data of all known runs again, because a view of several runs gets one event for all of them. */
function onAnyChange(): void {
  for (const data of runs.values()) data.refreshMetrics();
  reload((path) => path === 'runs' || /^runs\/[^/]+$/.test(path));
}

/** The address that the page showed before a local tool changed it. */
export const shownBefore = signal<string | undefined>(undefined);

function onView(address: string): void {
  shownBefore.value = formatRoute(route.peek());
  history.pushState(null, '', address);
  route.value = parseRoute(address);
}

let followed: { readonly run: string; readonly end: () => void } | undefined;

/** Keeps what is shown of a run up to date. */
export function followRun(run: string): void {
  if (followed?.run === run) return;
  followed?.end();
  followed = { run, end: source.current.follow(run, { onChange, onState: (live) => (isLive.value = live), onView }) };
}

function onChange({ run, what }: ChangeEvent): void {
  if (run === '') return onAnyChange();
  const data = runs.get(run);
  if (what.includes('metrics')) data?.refreshMetrics();
  if (what.includes('episodes')) data?.refreshEpisodes();
  if (what.includes('state') || what.includes('metrics'))
    reload(
      (path) =>
        path === 'runs' || path === `runs/${run}` || path === `runs/${run}/findings` || path === `runs/${run}/system`,
    );
}
