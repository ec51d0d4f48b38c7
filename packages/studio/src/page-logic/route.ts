/** An address of the page. It names the view, its filters and its selection, so that it can be sent to someone. */
export type PageRoute = {
  readonly view: View;
  /** Id of the run. Empty for the views of all runs. */
  readonly run: string;
  /** What the view shows: an episode, a step, a group, a task. */
  readonly item: string;
  readonly query: Readonly<Record<string, string>>;
};

export const views = [
  'runs',
  'overview',
  'curves',
  'steps',
  'step',
  'group',
  'episodes',
  'episode',
  'task',
  'compare',
  'system',
  'swarm',
  'chat',
] as const;
export type View = (typeof views)[number];

const ofAllRuns: ReadonlySet<View> = new Set(['runs', 'compare', 'swarm', 'chat']);

/** Reads `#/run/<id>/<view>/<item>?<query>`. Any other address leads to the table of runs. */
export function parseRoute(hash: string): PageRoute {
  const [place = '', query = ''] = splitOnce(hash.replace(/^#/, ''), '?');
  const parts = place
    .split('/')
    .filter((part) => part !== '')
    .map(decode);
  const values = Object.fromEntries(new URLSearchParams(query));
  const [first, run = '', view = 'overview', item = ''] = parts;
  if (first === 'run' && run !== '' && isView(view) && !ofAllRuns.has(view)) return { view, run, item, query: values };
  if (first !== undefined && isView(first) && ofAllRuns.has(first))
    return { view: first, run: '', item: '', query: values };
  return { view: 'runs', run: '', item: '', query: values };
}

export function formatRoute({ view, run, item, query }: Partial<PageRoute> & Pick<PageRoute, 'view'>): string {
  const parts = ofAllRuns.has(view) ? (view === 'runs' ? [] : [view]) : ['run', run ?? '', view, item ?? ''];
  const place = parts
    .filter((part, at) => part !== '' || at < 2)
    .map(encodeURIComponent)
    .join('/');
  const used = Object.entries(query ?? {}).filter(([, value]) => value !== '');
  return `#/${place}${used.length === 0 ? '' : `?${new URLSearchParams(used).toString()}`}`;
}

export const isView = (text: string): text is View => (views as readonly string[]).includes(text);

function splitOnce(text: string, mark: string): readonly string[] {
  const at = text.indexOf(mark);
  return at === -1 ? [text] : [text.slice(0, at), text.slice(at + 1)];
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text; // a cut address
  }
}
