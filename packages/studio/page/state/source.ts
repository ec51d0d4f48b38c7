import type { ChangeEvent, ChatQuestion, ViewEvent } from '../../src/wire.js';

export type SourceListener = {
  readonly onChange: (event: ChangeEvent) => void;
  readonly onState: (isLive: boolean) => void;
  /** Called with an address that a local tool asks the page to show. */
  readonly onView: (address: string) => void;
};

/** Where the page gets its data from: the server, or the file itself if it was exported. */
export type Source = {
  readonly isExport: boolean;
  /** The address that the page opens with, if an exported file names one. */
  readonly start?: string;
  read(path: string): Promise<unknown>;
  /** Asks a model. The answer comes as server-sent events. */
  ask(request: ChatQuestion, signal: AbortSignal): Promise<Response>;
  /** Calls `onChange` after each change of the files. Returns a function that ends it. */
  follow(run: string, listener: SourceListener): () => void;
};

const server: Source = {
  isExport: false,
  read: async (path) => {
    const response = await fetch(`api/${path}`);
    const value = (await response.json()) as { readonly error?: string };
    if (!response.ok) throw new Error(value.error ?? `The studio answered ${response.status}.`);
    return value;
  },
  ask: (request, signal) =>
    fetch('api/chat', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(request),
      signal,
    }),
  follow: (run, { onChange, onState, onView }) => {
    const events = new EventSource(`api/events?run=${encodeURIComponent(run)}`);
    events.addEventListener('ready', () => {
      onState(true);
      onChange({ run, what: ['metrics', 'episodes', 'state'] }); // changes may have been missed before
    });
    events.addEventListener('error', () => onState(false));
    events.addEventListener('change', ({ data }) => onChange(JSON.parse(String(data)) as ChangeEvent));
    events.addEventListener('view', ({ data }) => onView((JSON.parse(String(data)) as ViewEvent).address));
    return () => events.close();
  },
};

/** The answers of the server by their paths, compressed. */
async function openExport(text: string, start: string): Promise<Source> {
  const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  const unpacked = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('gzip'));
  const answers = (await new Response(unpacked).json()) as Readonly<Record<string, unknown>>;
  return {
    isExport: true,
    start,
    read: (path) => {
      const answer = Object.hasOwn(answers, path) ? answers[path] : answerTo(path, answers);
      return answer === undefined
        ? Promise.reject(
            new Error('This file does not contain it. Open the run with `ajet studio`, or export more episodes.'),
          )
        : Promise.resolve(answer);
    },
    ask: () => Promise.reject(new Error('This file has no model.')),
    follow: () => () => undefined,
  };
}

/** Answers that are put together from parts: the outcomes of the rows on the screen. */
function answerTo(path: string, answers: Readonly<Record<string, unknown>>): unknown {
  const [place = '', query = ''] = path.split('?');
  if (!place.endsWith('/outcomes')) return undefined;
  const all = answers[place] as Readonly<Record<string, unknown>> | undefined;
  const refs = (new URLSearchParams(query).get('refs') ?? '').split(',');
  return Object.fromEntries(refs.flatMap((ref) => (all?.[ref] === undefined ? [] : [[ref, all[ref]]])));
}

export async function openSource(): Promise<Source> {
  const embedded = document.getElementById('run-data');
  if (embedded === null) return server;
  return openExport(embedded.textContent.trim(), decodeURIComponent(embedded.dataset['start'] ?? ''));
}
