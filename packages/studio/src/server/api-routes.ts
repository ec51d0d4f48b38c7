import { isJsonObject, type JsonObject } from '@agentjet/core';
import type { Context, Hono } from 'hono';
import { compareRuns, findSettingsApart, findTasksApart, maxCompared } from '../page-logic/compare-runs.js';
import { askChat, listChats, parseChat, type TalkServer } from '../remote/chat.js';
import type { Remote } from '../remote/read-remote.js';
import { viewSwarm } from '../remote/view-swarm.js';
import { listRows, toStep, viewStep } from '../runs/list-rows.js';
import type { StudioRuns } from '../runs/studio-runs.js';
import type { StudioRun } from '../runs/studio-run.js';
import { streamChanges } from './stream-changes.js';
import { parseViewRequest, type StudioView } from './studio-view.js';

export type ApiParts = {
  readonly runs: StudioRuns;
  readonly view: StudioView;
  readonly swarm?: Remote;
  readonly chats?: readonly TalkServer[];
  readonly signal: AbortSignal;
};

type Query = (name: string) => string;
type RunRoute = {
  readonly route: string;
  readonly says: string;
  readonly read: (run: StudioRun, query: Query, all: Readonly<Record<string, string>>) => Promise<object | undefined>;
};

/** The maximum number of rows in an answer, which is more than a screen shows. */
const maxRefs = 200;

/** The routes of a run, below `/api/runs/<id>`. */
const runRoutes: readonly RunRoute[] = [
  { route: '', says: 'did it learn, by kind and by task; settings and events', read: (run) => run.overview() },
  { route: '/findings', says: 'what keeps it from learning, with figures and episodes', read: (run) => run.findings() },
  {
    route: '/metrics',
    says: 'lines of steps and evaluations; ?after=<cursor> reads only later ones',
    read: (run, query) => run.metrics(query('after')),
  },
  {
    route: '/rows',
    says: 'episodes with question, expected, answered, reward and reason; ?result=success|failure|error|cut|fork|tool-error|refused&find=<words>&step=&task=&kind=&group=&phase=&sort=-reward&limit=50',
    read: (run, _query, all) => listRows(run, all),
  },
  {
    route: '/step',
    says: 'the groups of ?step=<n>: rewards, spread, and why a group has no gradient; &phase=evaluation for its evaluation',
    read: (run, query) => viewStep(run, Number(query('step')), query('phase') === 'evaluation'),
  },
  {
    route: '/group',
    says: 'the episodes of ?id=<group>&step=<n> and one tree of their tokens',
    read: (run, query) => run.group(query('id'), Number(query('step'))),
  },
  {
    route: '/episode',
    says: 'conversation, tokens, forks and times of ?id=<episode>',
    read: (run, query) => run.episode(query('id')),
  },
  { route: '/task', says: 'the task ?id=<task> in each evaluation', read: (run, query) => run.task(query('id')) },
  {
    route: '/search',
    says: 'places of the episodes that contain ?words=, of &step=<n> or of all',
    read: (run, query) => run.search(query('words'), toStep(query('step'))),
  },
  { route: '/system', says: 'memory, CPU and disk', read: (run) => run.system() },
  {
    route: '/times',
    says: 'where the episodes of ?step=<n> spent their time',
    read: (run, query) => run.times(Number(query('step'))),
  },
  {
    route: '/episodes',
    says: 'all rows of the index as columns; ?after=<cursor> reads only later ones',
    read: (run, query) => run.episodes(query('after')),
  },
  {
    route: '/outcomes',
    says: 'what the episodes at ?refs=<step>.<offset>,… were asked and answered',
    read: (run, query) => run.outcomes(query('refs').split(',').slice(0, maxRefs)),
  },
];

/** The list of routes, for people and programs that know only the address. */
export const describeApi = (): object => ({
  routes: {
    'GET /api/runs': 'all runs with their ids',
    'GET /api/compare?runs=<id>,<id>': 'evaluations paired by task, settings and tasks on which runs differ',
    ...Object.fromEntries(runRoutes.map(({ route, says }) => [`GET /api/runs/<id>${route}`, says])),
    'GET /api/swarm': 'the swarm server of --swarm',
    'GET /api/chats': 'the model servers of --chat',
    'POST /api/view': 'shows { "address": "#/run/<id>/episode/<episode>", "quote": "…" } on every open page',
  },
  access: 'Send the token as "Authorization: Bearer <token>". It is in the file that `ajet studio` names.',
  links: 'An address such as #/run/<id>/episode/<episode>?token=12&quote=… stays valid; `ajet studio check` checks it.',
});

export function addApi(app: Hono, parts: ApiParts): void {
  const { runs, view, swarm, chats = [], signal } = parts;
  app.get('/api', (context) => context.json(describeApi()));
  app.get('/api/runs', async (context) =>
    context.json({ ...(await runs.list()), offers: { swarm: swarm !== undefined, chats: chats.length } }),
  );
  app.get('/api/events', (context) => streamChanges(context, { runs, view, runId: context.req.query('run'), signal }));
  app.get('/api/compare', async (context) => compare(context, runs));
  app.get('/api/swarm', async (context) =>
    swarm === undefined
      ? context.json({ error: 'No swarm was named. Start `ajet studio` with --swarm <address>.' }, 404)
      : context.json(await viewSwarm(swarm)),
  );
  app.get('/api/chats', async (context) => context.json({ chats: await listChats(chats) }));
  app.post('/api/chat', (context) => chat(context, chats));
  app.post('/api/view', (context) => showView(context, view));
  for (const { route, read } of runRoutes)
    app.get(`/api/runs/:run${route}`, async (context) => {
      const run = await runs.find(context.req.param('run') ?? '');
      const found = run && (await read(run, (name) => context.req.query(name) ?? '', context.req.query()));
      return found === undefined ? context.json({ error: sayMissing(run) }, 404) : context.json(found);
    });
}

async function compare(context: Context, runs: StudioRuns): Promise<Response> {
  const ids = (context.req.query('runs') ?? '').split(',').slice(0, maxCompared);
  const found = await Promise.all(ids.map((id) => runs.find(id)));
  const known = found.filter((run) => run !== undefined);
  if (known.length < 2 || known.length < ids.length)
    return context.json({ error: 'Name two or more runs by their ids: /api/compare?runs=<id>,<id>' }, 404);
  const overviews = await Promise.all(known.map((run) => run.overview()));
  const compared = compareRuns(overviews).map(({ overview, ...rest }) => ({ run: overview.run, ...rest }));
  return context.json({
    runs: compared,
    settings: findSettingsApart(overviews),
    ...findTasksApart(overviews),
  });
}

async function showView(context: Context, view: StudioView): Promise<Response> {
  const address = parseViewRequest(await readBody(context));
  if (address === undefined)
    return context.json(
      { error: 'Send { "address": "#/run/<id>/<view>/<item>", "quote": "up to 500 characters" }.' },
      422,
    );
  view.show(address);
  return context.json({ address, pages: view.watchers });
}

async function chat(context: Context, chats: readonly TalkServer[]): Promise<Response> {
  const request = parseChat(await readBody(context));
  const server = request && chats[request.chat];
  if (request === undefined || server === undefined)
    return context.json(
      { error: 'Send { "chat": 0, "model": "…", "messages": [{ "role": "user", "content": "…" }] }.' },
      422,
    );
  return askChat(server, request, context.req.raw.signal);
}

async function readBody(context: Context): Promise<JsonObject> {
  const value: unknown = await context.req.json().catch(() => undefined); // not JSON
  return isJsonObject(value) ? value : {};
}

function sayMissing(run: StudioRun | undefined): string {
  return run === undefined
    ? 'There is no such run. It may have been moved or deleted.'
    : `The run ${run.found.path} does not have this. It may have been removed when the run was resumed.`;
}
