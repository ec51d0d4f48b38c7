import { Hono, type Context } from 'hono';
import {
  abandonRequestSchema,
  claimRequestSchema,
  configRequestSchema,
  createOpenApi,
  endRequestSchema,
  heartbeatRequestSchema,
  keyRequestSchema,
  operations,
  parseRequest,
  rewardsRequestSchema,
  routes,
  tasksRequestSchema,
  WireError,
  wireVersion,
  wireVersionHeader,
  type ClaimedEpisode,
  type EndRequest,
  type Operation,
  type Role,
} from '@agentjet/swarm-wire';
import type { z } from 'zod';
import type { Swarm } from '../swarm/swarm.js';
import { createKey, requireKey, type StoredKey } from './keys.js';
import { readJson, type BodyLimits } from './read-json.js';

/**
 * The swarm over HTTP: keys before bodies, bodies within limits, every error with a code of the closed list. `current`
 * gives the swarm that works now; undefined while one is recovering.
 */
export function createSwarmApp(current: () => Swarm | undefined, options: SwarmAppOptions = {}): Hono {
  const limits = { ...defaultLimits, ...options.limits };
  const app = new Hono();
  const door = new Door(current, limits, options.needsKey !== false);
  const base = app.basePath('/swarm/v1');
  base.get('/healthz', (context) => context.json({ ok: true }));
  base.get('/readyz', (context) => context.json({ ok: current() !== undefined }, current() === undefined ? 503 : 200));
  base.get(
    '/openapi.json',
    door.read('observer', async () => createOpenApi()),
  );
  base.get(
    '/server',
    door.read('observer', async (swarm) => swarm.describe()),
  );
  addEpisodes(base, door, options);
  addOperations(base, door);
  addKeys(base, door);
  app.notFound((context) => answerError(context, unknownRoute(context)));
  app.onError((error, context) => answerError(context, error));
  return app;
}

export type SwarmAppOptions = {
  readonly limits?: Partial<BodyLimits>;
  /** False: everybody may do everything. Only for a server that listens on loopback alone. */
  readonly needsKey?: boolean;
  /** How clients reach this server, such as `https://swarm.example.org`. Default: as the request says. */
  readonly origin?: string;
};

/** The address at which this client reached the server; a proxy says what it was asked for. */
function originOf({ req }: Context): string {
  const { origin, protocol, host } = new URL(req.url);
  const scheme = req.header('x-forwarded-proto');
  const name = req.header('x-forwarded-host') ?? host;
  return scheme === undefined && name === host ? origin : `${scheme ?? protocol.slice(0, -1)}://${name}`;
}

function withOrigin(episode: ClaimedEpisode, origin: string): ClaimedEpisode {
  const { base_url } = episode;
  return { ...episode, base_url: base_url.startsWith('/') ? origin + base_url : base_url };
}

const defaultLimits: BodyLimits = { maxBytes: 8 * 2 ** 20, maxDepth: 64, maxMs: 30_000 };

function addEpisodes(base: Hono, door: Door, options: SwarmAppOptions): void {
  base.post(
    '/episodes',
    door.write('worker', claimRequestSchema, async (swarm, claim, { context }) => {
      const answer = await swarm.claim(claim);
      context.status(answer.episodes.length > 0 ? 201 : 200);
      return {
        ...answer,
        episodes: answer.episodes.map((episode) => withOrigin(episode, options.origin ?? originOf(context))),
      };
    }),
  );
  base.get(
    '/episodes/:id',
    door.read('observer', (swarm, context) => swarm.episode(context.req.param('id') ?? '')),
  );
  base.post(
    '/heartbeats',
    door.write('worker', heartbeatRequestSchema, (swarm, beat) => swarm.heartbeat(beat)),
  );
  base.post(
    '/episodes/:id/end',
    door.write('worker', endRequestSchema, (swarm, end, { context, key }) => {
      for (const reward of rewardsIn(end)) requireBounds(reward, key);
      return swarm.end(context.req.param('id') ?? '', end);
    }),
  );
  base.post(
    '/episodes/:id/abandon',
    door.write('worker', abandonRequestSchema, (swarm, request, { context }) =>
      swarm.abandon(context.req.param('id') ?? '', request),
    ),
  );
  base.get(
    '/groups',
    door.read('worker', (swarm, context, key) => {
      requireScorer(key);
      return swarm.unscored(context.req.query('state') !== 'unscored');
    }),
  );
  base.put(
    '/groups/:id/rewards',
    door.write('worker', rewardsRequestSchema, async (swarm, request, { context, key }) => {
      requireScorer(key);
      for (const { reward } of request.rewards) requireBounds(reward, key);
      const groupId = context.req.param('id') ?? '';
      await swarm.score(groupId, request);
      return swarm.group(groupId);
    }),
  );
}

function addOperations(base: Hono, door: Door): void {
  base.post(
    '/tasks',
    door.write('worker', tasksRequestSchema, (swarm, tasks) => swarm.addTasks(tasks)),
  );
  base.post(
    '/run/:operation',
    door.read('commander', async (swarm, context) => {
      const operation = toOperation(context.req.param('operation') ?? '');
      const id = context.req.header('idempotency-key') ?? crypto.randomUUID();
      await swarm.operate(operation, id);
      context.status(202);
      return { operation_id: id, operation, state: 'done' };
    }),
  );
  base.patch(
    '/run/config',
    door.write('commander', configRequestSchema, (swarm, request, { context }) => {
      const ifMatch = Number(context.req.header('if-match') ?? Number.NaN);
      if (!Number.isInteger(ifMatch)) {
        throw new WireError('invalid_request', 'Name the revision that is changed: "If-Match: <number>".');
      }
      return swarm.configure(request, ifMatch);
    }),
  );
}

function addKeys(base: Hono, door: Door): void {
  base.post(
    '/keys',
    door.write('commander', keyRequestSchema, async (swarm, request, { context }) => {
      if (swarm.context.ledger.state.keys.has(request.name)) {
        throw new WireError('name_taken', `There is a key "${request.name}". Delete it first if its secret was lost.`);
      }
      const { stored, answer } = createKey(request);
      await swarm.keep(stored.name, stored);
      context.status(201);
      return answer;
    }),
  );
  base.get(
    '/keys',
    door.read('commander', async (swarm) => {
      const stored = [...swarm.context.ledger.state.keys.values()].map(({ content }) => content as StoredKey);
      return {
        keys: stored.map(({ name, role, expiresAt }) => ({
          name,
          role,
          ...(expiresAt !== undefined && { expires_at: expiresAt }),
        })),
      };
    }),
  );
  base.delete(
    '/keys/:name',
    door.read('commander', async (swarm, context) => {
      await swarm.keep(context.req.param('name') ?? '', null);
      return { deleted: true };
    }),
  );
}

/** What every route asks for before it does anything: the wire version, a swarm that works, a key, and then the body. */
class Door {
  readonly #current: () => Swarm | undefined;
  readonly #limits: BodyLimits;
  readonly #needsKey: boolean;

  constructor(current: () => Swarm | undefined, limits: BodyLimits, needsKey: boolean) {
    this.#current = current;
    this.#limits = limits;
    this.#needsKey = needsKey;
  }

  read =
    (role: Role, route: (swarm: Swarm, context: Context, key: StoredKey | undefined) => Promise<unknown>) =>
    async (context: Context): Promise<Response> => {
      const { swarm, key } = this.#enter(context, role);
      return context.json((await route(swarm, context, key)) as object);
    };

  write =
    <Body>(role: Role, schema: z.ZodType<Body>, route: WriteRoute<Body>) =>
    async (context: Context): Promise<Response> => {
      const { swarm, key } = this.#enter(context, role);
      const body = parseRequest(schema, await readJson(context.req.raw, this.#limits));
      return context.json((await route(swarm, body, { context, key })) as object);
    };

  #enter(context: Context, role: Role): { readonly swarm: Swarm; readonly key: StoredKey | undefined } {
    const found = context.req.header(wireVersionHeader);
    if (found !== undefined && found !== wireVersion) {
      throw new WireError(
        'wire_version',
        `The client speaks version ${JSON.stringify(found)} of the protocol, and this server ${wireVersion}. Use the client of this server's version.`,
      );
    }
    const swarm = this.#current();
    if (swarm === undefined) throw new WireError('not_ready', 'The server is recovering.', { retryAfterMs: 500 });
    const header = context.req.header('authorization');
    const key = this.#needsKey ? requireKey(swarm.context.ledger.state, header, role) : undefined;
    return { swarm, key };
  }
}

type WriteRoute<Body> = (
  swarm: Swarm,
  body: Body,
  more: { readonly context: Context; readonly key: StoredKey | undefined },
) => Promise<unknown>;

function requireBounds(reward: number | null, key: StoredKey | undefined): void {
  const [least, most] = key?.rewardBounds ?? [-Infinity, Infinity];
  if (reward === null || (reward >= least && reward <= most)) return;
  throw new WireError(
    'reward_out_of_bounds',
    `The reward is ${reward}; the key "${key?.name}" allows ${least} to ${most}.`,
  );
}

const rewardsIn = ({ reward, rewards = {}, turn_rewards = [] }: EndRequest): readonly (number | null)[] => [
  reward,
  ...Object.values(rewards),
  ...turn_rewards.map(({ value }) => value),
];

function requireScorer(key: StoredKey | undefined): void {
  if (key === undefined || key.role === 'commander' || key.scores?.includes('default') === true) return;
  throw new WireError('wrong_role', `The key "${key.name}" may not score. Make one with "scores": ["default"].`);
}

function toOperation(name: string): Exclude<Operation, 'checkpoint'> {
  if (name !== 'checkpoint' && (operations as readonly string[]).includes(name))
    return name as Exclude<Operation, 'checkpoint'>;
  throw new WireError(
    'unknown_operation',
    `There is no operation ${JSON.stringify(name)}; there are start, pause, resume, drain and stop.`,
  );
}

/** Another method on a known path, or no such path. */
function unknownRoute({ req }: Context): WireError {
  const matches = (path: string): boolean =>
    new RegExp(`^/swarm/v1${path.replaceAll(/\{\w+\}/g, '[^/]+')}$`).test(req.path);
  const methods = routes.filter(({ path }) => matches(path)).map(({ method }) => method.toUpperCase());
  if (methods.length === 0) return new WireError('unknown_route', `There is nothing at ${req.path}.`);
  return new WireError('wrong_method', `${req.path} takes ${methods.join(', ')}, not ${req.method}.`);
}

function answerError(context: Context, error: unknown): Response {
  const known =
    error instanceof WireError
      ? error
      : new WireError('failed', 'The server failed on this request; its log says why.');
  const { status, retryAfterMs } = known;
  if (status === 429 || status === 503) context.header('retry-after', String(Math.ceil((retryAfterMs ?? 1000) / 1000)));
  if (status === 401 || status === 413 || status === 408) context.header('connection', 'close');
  if (!(error instanceof WireError)) console.error(error);
  return context.json(known.toBody(), status as 400);
}
