import { BackboneError } from '@agentjet/core';
import { Hono, type Context } from 'hono';
import { describeProblem } from '../runs/studio-run.js';
import { addApi, describeApi, type ApiParts } from './api-routes.js';
import { isFirstVisit, findRefusal, type GuardedRequest, type RequestRules } from './guard.js';
import type { PageFiles } from './page-files.js';
import { StudioView } from './studio-view.js';

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

export type AppOptions = RequestRules & Omit<ApiParts, 'view'> & { readonly page: PageFiles };

/** Answers requests of the page and of local tools. Only requests to `/api/view` and `/api/chat` have a body. */
export function createStudioApp({ page, runs, swarm, chats, signal, ...guard }: AppOptions): Hono {
  const app = new Hono();
  const parts = { runs, signal, view: new StudioView(), ...(swarm && { swarm }), ...(chats && { chats }) };
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
  addApi(app, parts);
  app.get('/', (context, next) =>
    context.req.header('accept') === 'application/json' ? context.json(describeApi()) : next(),
  );
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
