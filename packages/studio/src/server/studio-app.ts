import { BackboneError } from '@agentjet/core';
import { Hono, type Context } from 'hono';
import type { StudioRuns } from '../runs/studio-runs.js';
import { describeProblem, type StudioRun } from '../runs/studio-run.js';
import { streamChanges } from './stream-changes.js';
import { isFirstVisit, findRefusal, type GuardedRequest, type RequestRules } from './guard.js';
import type { PageFiles } from './page-files.js';

/** Scripts, styles and data come from the studio itself only; nothing may embed the page. */
const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

const headers = {
  'content-security-policy': policy,
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cache-control': 'no-store',
  'cross-origin-resource-policy': 'same-origin',
  'cross-origin-opener-policy': 'same-origin',
};

export type AppOptions = RequestRules & {
  readonly page: PageFiles;
  readonly runs: StudioRuns;
  readonly signal: AbortSignal;
};

/** Answers GET requests of the page. */
export function createStudioApp({ page, runs, signal, ...guard }: AppOptions): Hono {
  const app = new Hono();
  app.use(async (context, next) => {
    const request = toGuarded(context);
    const refusal = findRefusal(request, guard);
    if (refusal !== undefined) return context.json({ error: refusal.reason }, refusal.status, headers);
    await next();
    for (const [name, value] of Object.entries(headers)) context.res.headers.set(name, value);
    if (isFirstVisit(request, guard.token))
      context.res.headers.set('set-cookie', `${guard.cookie}=${guard.token}; Path=/; HttpOnly; SameSite=Strict`);
    return undefined;
  });
  addApi(app, runs, signal);
  app.get('*', (context) => {
    const { pathname } = new URL(context.req.url);
    const file = page.get(pathname === '/' ? '/index.html' : pathname);
    if (file === undefined) return context.json({ error: 'There is no such page.' }, 404);
    return context.body(file.body, 200, { 'content-type': file.type });
  });
  app.onError((thrown, context) => {
    const status = thrown instanceof BackboneError ? 422 : 500;
    return context.json({ error: describeProblem(thrown) }, status, headers);
  });
  return app;
}

function toGuarded({ req }: Context): GuardedRequest {
  const { pathname, search } = new URL(req.url);
  return { method: req.method, url: pathname + search, header: (name) => req.header(name) };
}

function addApi(app: Hono, runs: StudioRuns, signal: AbortSignal): void {
  app.get('/api/runs', async (context) => context.json(await runs.list()));
  app.get('/api/events', (context) => streamChanges(context, { runs, runId: context.req.query('run'), signal }));
  const answer = (route: string, read: (run: StudioRun, query: Query) => Promise<object | undefined>): void => {
    app.get(`/api/runs/:run${route}`, async (context) => {
      const run = await runs.find(context.req.param('run') ?? '');
      const found = run && (await read(run, (name) => context.req.query(name) ?? ''));
      if (found === undefined) return context.json({ error: sayMissing(run) }, 404);
      return context.json(found);
    });
  };
  answer('', (run) => run.overview());
  answer('/findings', (run) => run.findings());
  answer('/metrics', (run, query) => run.metrics(query('after')));
  answer('/episodes', (run, query) => run.episodes(query('after')));
  answer('/outcomes', (run, query) => run.outcomes(query('refs').split(',').slice(0, maxRefs)));
  answer('/search', (run, query) => run.search(query('words'), toStep(query('step'))));
  answer('/episode', (run, query) => run.episode(query('id')));
  answer('/group', (run, query) => run.group(query('id'), Number(query('step'))));
  answer('/system', (run) => run.system());
  answer('/times', (run, query) => run.times(Number(query('step'))));
  answer('/task', (run, query) => run.task(query('id')));
}

type Query = (name: string) => string;

/** More rows than a screen shows. */
const maxRefs = 200;

const toStep = (text: string): number | undefined => (/^\d{1,9}$/.test(text) ? Number(text) : undefined);

function sayMissing(run: StudioRun | undefined): string {
  return run === undefined
    ? 'There is no such run. It may have been moved or deleted.'
    : `The run ${run.found.path} does not have this. It may have been removed when the run was resumed.`;
}
