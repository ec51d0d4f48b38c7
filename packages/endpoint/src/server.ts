import type { AddressInfo } from 'node:net';
import { closeServer } from '@agentjet/core/servers';
import { type ApiRoute, toApiError, ApiError } from '@agentjet/chat-completions';
import { serve, type ServerType } from '@hono/node-server';
import type { EndpointHost } from '@agentjet/rollout';
import { type Context, Hono } from 'hono';
import { apis, findApi, findModelForm } from './apis.js';
import { LoopTurns } from './loop-turns.js';
import { type Call, createCall, type Incoming, type Timing } from './call.js';
import { checkNesting } from './check-nesting.js';
import { noteRefusals } from './note-refusals.js';
import { decodeBody, parseJsonText, readWholeBody } from './read-body.js';
import { refuse } from './refuse.js';
import { openRoute, type RouteBindings } from './open-route.js';
import { type EndpointSession, otherEpisode, SessionStore } from './session.js';

export type EndpointOptions = Partial<Timing> & {
  /** Default: the loopback address. */
  readonly hostname?: string;
  /** 0 picks a free port. */
  readonly port?: number;
  /** The address that agents are given, such as `http://10.0.0.5:8710/v1`. Default: the one that it listens on. */
  readonly publicUrl?: string;
  /**
   * The maximum size of a request body. A longer body gets status 413. Default: 8 MiB, several times the longest prompt
   * of today's models.
   */
  readonly maxBodyBytes?: number;
};

/** One HTTP server for the agents of all running episodes. The process can exit while the server is open. */
export interface EndpointServer extends EndpointHost {
  close(): Promise<void>;
}

/** Resolves once the server listens. Rejects with the system's error if the port is not available. */
export async function startEndpointServer(options: EndpointOptions = {}): Promise<EndpointServer> {
  const sessions = new SessionStore();
  const listening = await listenAt((context) => {
    const session = sessions.authenticate(readKey(context));
    const only = context.env.onlyEpisode;
    if (only !== undefined && only !== session.episodeId) throw otherEpisode();
    return session;
  }, options);
  return {
    open: (registration) => ({
      baseUrl: options.publicUrl ?? listening.baseUrl,
      apiKey: sessions.open(registration),
      model: registration.model.name,
      openRoute: (clock) => openRoute(listening.fetch, registration.episodeId, clock),
    }),
    close: listening.close,
  };
}

/**
 * Creates the APIs of many agents under `basePath`, as part of another server. `basePath` may have parameters, which
 * `authenticate` reads. A request without a valid key is refused before its body is read. Pass `context.env` of the
 * Node server with each request.
 */
export function createAgentApp(
  basePath: string,
  authenticate: Authenticate,
  options: Partial<Timing> & { readonly maxBodyBytes?: number } = {},
): App {
  const { graceMs = 1_000, heartbeatMs = 15_000, maxBodyBytes = 8 << 20 } = options;
  return createEndpointApp(authenticate, { graceMs, heartbeatMs, maxBodyBytes, basePath });
}

/** Returns the session that a request may reach. Throws ApiError if there is none. */
export type Authenticate = (
  context: Context<{ Bindings: RouteBindings }>,
) => EndpointSession | Promise<EndpointSession>;

type Listening = { readonly baseUrl: string; readonly fetch: App['fetch']; readonly close: () => Promise<void> };

/** Starts an HTTP server with all APIs. Rejects with the system's error if the port is not available. */
export async function listenAt(
  authenticate: Authenticate,
  options: EndpointOptions,
  addRoutes: (app: App) => void = () => undefined,
): Promise<Listening> {
  const timing = { graceMs: options.graceMs ?? 1_000, heartbeatMs: options.heartbeatMs ?? 15_000 };
  const app = createEndpointApp(authenticate, { ...timing, maxBodyBytes: options.maxBodyBytes ?? 8 << 20 });
  addRoutes(app);
  const hostname = options.hostname ?? '127.0.0.1';
  const server = await listen(app, hostname, options.port ?? 0);
  const { port } = server.address() as AddressInfo;
  return {
    fetch: app.fetch,
    baseUrl: `http://${hostname.includes(':') ? `[${hostname}]` : hostname}:${port}/v1`,
    close: () => closeServer(server),
  };
}

/** How long an idle connection stays open. */
const idleMs = 10 * 60_000;

type App = Hono<{ Bindings: RouteBindings }>;

function listen(app: App, hostname: string, port: number): Promise<ServerType> {
  return new Promise((resolve, reject) => {
    const server = serve({ fetch: app.fetch, hostname, port }, () => resolve(server));
    server.once('error', reject);
    // Clients keep idle connections for about a minute. A call breaks if one side closes while the other writes, so the
    // server waits longer.
    if ('keepAliveTimeout' in server) server.keepAliveTimeout = idleMs;
    server.unref();
  });
}

/** Creates all APIs under `<basePath>`. */
function createEndpointApp(
  authenticate: Authenticate,
  { maxBodyBytes, basePath = '', ...timing }: Timing & { readonly maxBodyBytes: number; readonly basePath?: string },
): App {
  const root: App = new Hono();
  const turns = new LoopTurns();
  const app: App = root.basePath(basePath);
  root.onError((error, context) => respondError(context, error));
  root.notFound((context) =>
    respondError(
      context,
      new ApiError(
        404,
        'unknown_url',
        `Unknown request URL: ${context.req.method} ${context.req.path}.${adviseAddress(context.req.path)}`,
      ),
    ),
  );
  const post = (route: ApiRoute<Call>): void => {
    const { path, handle } = route;
    app.post(path, async (context) => {
      const session = await authenticate(context);
      const bytes = await readWholeBody(context.env.incoming, maxBodyBytes);
      const turn = turns.take(bytes.length);
      if (turn !== undefined) await turn;
      return noteRefusals(session, async () => handle(createCall(session, toIncoming(context, route, bytes), timing)));
    });
    app.all(path, (context) =>
      respondError(
        context,
        new ApiError(405, 'method_not_supported', `${context.req.path} takes POST, not ${context.req.method}.`),
        { allow: 'POST' },
      ),
    );
  };
  for (const path of new Set(apis.flatMap(({ models }) => models?.paths ?? []))) {
    const nameOf = async (context: EndpointContext): Promise<string> => (await authenticate(context)).model.name;
    const formOf = (context: EndpointContext) =>
      findModelForm(path, (header) => context.req.header(header) !== undefined);
    app.get(path, async (context) => Response.json(formOf(context)?.list(await nameOf(context))));
    app.get(`${path}/*`, async (context) => Response.json(formOf(context)?.show(await nameOf(context))));
  }
  for (const { routes } of apis) routes.forEach(post);
  return root;
}

/**
 * Returns advice for a wrong address. Clients append the path of their API to their base address. OpenAI's clients
 * expect /v1 at the end of it, Anthropic's clients do not.
 */
function adviseAddress(path: string): string {
  const [, before = '', api = ''] =
    /^(.*?)\/((?:chat\/completions|completions|responses|messages(?:\/count_tokens)?|models)(?:\/.*)?)$/.exec(path) ??
    [];
  if (/\/v1\/v1(beta|alpha)\//.test(path)) return ` Gemini's clients take the address without /v1 at its end.`;
  if (api === '')
    return ' The APIs are under /v1: chat/completions, completions, responses, messages and models, and under /v1beta: models/{model}:generateContent.';
  if (before.endsWith('/v1/v1')) return ` The address has /v1 twice: use ${before.slice(0, -3)}/${api}.`;
  return ` The address lacks /v1 at its end: use ${before}/v1/${api}.`;
}

/** Reads the key of a request, as OpenAI's, Anthropic's or Google's clients send it. */
export function readKey({ req }: Context): string | undefined {
  const [, bearer] = /^bearer +(\S+)$/i.exec(req.header('authorization') ?? '') ?? [];
  return bearer ?? req.header('x-api-key') ?? req.header('x-goog-api-key') ?? req.query('key');
}

function toIncoming(
  context: EndpointContext,
  { protocol, complete = (body) => body }: ApiRoute<Call>,
  bytes: Buffer,
): Incoming {
  const text = decodeBody(bytes, context.env.incoming);
  checkNesting(text);
  // Waits for the end of this turn of the event loop, because bytes that were just written are sent only then.
  const breakOff = (): void => void setImmediate(() => context.env.outgoing.destroy());
  const body = complete(parseJsonText(text), new URL(context.req.url));
  return { request: context.req.raw, protocol, text, body, breakOff, clock: context.env.clock };
}

type EndpointContext = Context<{ Bindings: RouteBindings }>;

function respondError(
  context: EndpointContext,
  thrown: unknown,
  headers: Readonly<Record<string, string>> = {},
): Response | Promise<Response> {
  const error = toApiError(thrown);
  const body = findApi(context.req.path).toErrorBody(error);
  const answer = Response.json(body, { status: error.status, headers: { ...error.headers, ...headers } });
  return context.env.incoming.complete ? answer : refuse(context.env, answer);
}
