import type { HttpBindings } from '@hono/node-server';
import type { Context } from 'hono';
import { LoopTurns, refuse } from '@agentjet/endpoint';
import {
  parseRequest,
  parseStrings,
  routes,
  WireError,
  wireVersion,
  wireVersionHeader,
  type EndRequest,
  type Role,
} from '@agentjet/swarm-wire';
import type { z } from 'zod';
import type { Log } from '../log/log-entry.js';
import { logFailure, noteClient } from '../log/log-failure.js';
import type { ClaimKey } from '../swarm/episode-answers.js';
import type { Swarm } from '../swarm/swarm.js';
import { defaultOpenEpisodes, KeyLimiter } from './key-limits.js';
import { hasKey, requireKey, requireStillValid, type StoredKey } from './keys.js';
import { readJson, type BodyLimits } from './read-json.js';
import { requireOwnMachine } from './require-own-machine.js';

/** The checks that every route makes first: the wire version, a working swarm, a key, and then the body. */
export class Door {
  readonly #current: () => Swarm | undefined;
  readonly #limits: BodyLimits;
  readonly #keys: Keys;
  readonly limiter: KeyLimiter;
  /** Spreads answers over turns of the event loop, because one commit may release a thousand of them. */
  readonly #turns = new LoopTurns();

  constructor(current: () => Swarm | undefined, limits: BodyLimits, keys: Keys) {
    this.#current = current;
    this.#limits = limits;
    this.#keys = keys;
    this.limiter = keys.limiter ?? new KeyLimiter();
  }

  read =
    (role: Role, route: (swarm: Swarm, context: Context, key: StoredKey | undefined) => Promise<unknown>) =>
    async (context: Context): Promise<Response> => {
      const { swarm, key } = this.#enter(context, role);
      return context.json((await route(swarm, context, key)) as object);
    };

  /** Creates a handler for a route with query parameters. The handler refuses parameters that are not in the schema. */
  ask = <Query>(
    role: Role,
    schema: z.ZodType<Query>,
    route: AskRoute<Query>,
  ): ((context: Context) => Promise<Response>) =>
    this.read(role, (swarm, context, key) => route(swarm, parseStrings(schema, context.req.query()), { context, key }));

  /** Creates a handler for a route that makes the response itself. */
  raw =
    (role: Role, route: (swarm: Swarm, context: Context, key: StoredKey | undefined) => Promise<Response>) =>
    (context: Context): Promise<Response> => {
      const { swarm, key } = this.#enter(context, role);
      return route(swarm, context, key);
    };

  write =
    <Body>(role: Role, schema: z.ZodType<Body>, route: WriteRoute<Body>) =>
    async (context: Context): Promise<Response> => {
      const { swarm, key } = this.#enter(context, role);
      const body = parseRequest(schema, await readJson(incomingOf(context), this.#limits));
      const answer = await route(swarm, body, { context, key }).catch((error: unknown) => {
        noteClient(context, body);
        throw error;
      });
      const turn = this.#turns.take(answerBytes);
      if (turn !== undefined) await turn;
      return context.json(answer as object);
    };

  #enter(context: Context, role: Role): { readonly swarm: Swarm; readonly key: StoredKey | undefined } {
    const { headers } = incomingOf(context);
    const found = headers[wireVersionHeader]?.toString();
    if (found !== undefined && found !== wireVersion) {
      throw new WireError(
        'wire_version',
        `The client uses version ${JSON.stringify(found)} of the protocol, and this server uses ${wireVersion}. Use a client of this server's version.`,
      );
    }
    const swarm = this.#current();
    if (swarm === undefined) throw new WireError('not_ready', 'The server is recovering.', { retryAfterMs: 500 });
    const { needsKey = true, ownKey } = this.#keys;
    if (!needsKey) requireOwnMachine(headers);
    const isFree = !needsKey || (ownKey !== undefined && hasKey(headers.authorization, ownKey));
    const key = isFree ? undefined : requireKey(swarm.context.ledger.state, headers.authorization, role);
    this.limiter.take(key, Math.min(Number(headers['content-length'] ?? 0) || 0, this.#limits.maxBytes));
    return { swarm, key };
  }
}

type Keys = {
  readonly needsKey?: boolean | undefined;
  readonly ownKey?: string | undefined;
  /** Default: a limiter for this door only. */
  readonly limiter?: KeyLimiter | undefined;
};

/** The assumed size of an answer in bytes. The answers of one turn of the event loop have a size limit. */
const answerBytes = 1024;

export type AskRoute<Query> = (
  swarm: Swarm,
  query: Query,
  more: { readonly context: Context; readonly key: StoredKey | undefined },
) => Promise<unknown>;

export type WriteRoute<Body> = (
  swarm: Swarm,
  body: Body,
  more: { readonly context: Context; readonly key: StoredKey | undefined },
) => Promise<unknown>;

/** Reads the headers that a schema describes. Throws WireError `invalid_request`. */
export const readHeaders = <Headers>({ req }: Context, schema: z.ZodType<Headers>): Headers =>
  parseStrings(schema, req.header());

/** Records an operator's order before it is carried out: who, when, what. */
export async function audit(
  swarm: Swarm,
  key: StoredKey | undefined,
  { what, ...detail }: { readonly what: string } & Readonly<Record<string, unknown>>,
): Promise<void> {
  await swarm.audit({ at: new Date().toISOString(), by: key?.name ?? '', what, detail });
}

/** Returns the fields of a key that the swarm needs. With `swarm`, a claim that waits can check the key again. */
export function toClaimKey(key: StoredKey | undefined, swarm?: Swarm): ClaimKey | undefined {
  if (key === undefined) return undefined;
  const { name, role, shares } = key;
  const { maxEpisodes = role === 'worker' ? defaultOpenEpisodes : undefined } = key;
  return {
    name,
    isCommander: role === 'commander',
    ...(maxEpisodes !== undefined && { maxEpisodes }),
    ...(shares !== undefined && { shares }),
    ...(swarm !== undefined && { requireStillValid: () => requireStillValid(swarm.context.ledger.state, key) }),
  };
}

/** Throws WireError `reward_out_of_bounds` if the key does not allow this reward. */
export function requireBounds(reward: number | null, key: StoredKey | undefined): void {
  const [least, most] = key?.rewardBounds ?? [-Infinity, Infinity];
  if (reward === null || (reward >= least && reward <= most)) return;
  throw new WireError(
    'reward_out_of_bounds',
    `The reward is ${reward}; the key "${key?.name}" allows ${least} to ${most}.`,
  );
}

/**
 * Throws WireError `reward_out_of_bounds` if an agent's rewards of turns and of the episode could add up to more, or to
 * less, than the key allows.
 */
export function requireSum({ reward, rewards = {}, turn_rewards = [] }: EndRequest, key: StoredKey | undefined): void {
  if (key?.rewardBounds === undefined || turn_rewards.length === 0) return;
  const [least, most] = key.rewardBounds;
  const finals = [reward ?? 0, ...Object.values(rewards)];
  const sumOf = (of: (value: number) => number): number => turn_rewards.reduce((sum, { value }) => sum + of(value), 0);
  const highest = Math.max(...finals) + sumOf((value) => Math.max(0, value));
  const lowest = Math.min(...finals) + sumOf((value) => Math.min(0, value));
  if (highest <= most && lowest >= least) return;
  throw new WireError(
    'reward_out_of_bounds',
    `The rewards of the episode and of its turns add up to between ${lowest} and ${highest}; the key "${key.name}" allows ${least} to ${most} for an episode.`,
  );
}

export const rewardsIn = ({ reward, rewards = {}, turn_rewards = [] }: EndRequest): readonly (number | null)[] => [
  reward,
  ...Object.values(rewards),
  ...turn_rewards.map(({ value }) => value),
];

/**
 * Returns the shares whose groups the key may list and score, and undefined if it may score all. Throws WireError
 * `wrong_role` if it may score none.
 */
export function scoredShares(key: StoredKey | undefined): readonly string[] | undefined {
  if (key === undefined || key.role === 'commander') return undefined;
  if (key.scores !== undefined && key.scores.length > 0) return key.scores;
  throw new WireError('wrong_role', `The key "${key.name}" may not score. Make one with "scores": ["default"].`);
}

/** Throws WireError `wrong_role` unless the key may score groups of this share. */
export function requireScorer(key: StoredKey | undefined, share: string): void {
  const shares = scoredShares(key);
  if (shares === undefined || shares.includes(share)) return;
  throw new WireError(
    'wrong_role',
    `The key "${key?.name}" may score the shares ${shares.join(', ')}, not "${share}". Make one with "scores": ["${share}"].`,
  );
}

/** Returns the error for an unknown path, or for a known path with the wrong method. */
export function unknownRoute({ req }: Context): WireError {
  const matches = (path: string): boolean =>
    new RegExp(`^/swarm/v1${path.replaceAll(/\{\w+\}/g, '[^/]+')}$`).test(req.path);
  const methods = routes.filter(({ path }) => matches(path)).map(({ method }) => method.toUpperCase());
  if (methods.length === 0) return new WireError('unknown_route', `There is nothing at ${req.path}.`);
  return new WireError('wrong_method', `${req.path} takes ${methods.join(', ')}, not ${req.method}.`);
}

/**
 * Answers with the error. If the body was refused, the connection is closed, because the rest of the body is not read.
 */
export function answerError(context: Context, error: unknown, log: Log = logToConsole): Response | Promise<Response> {
  const known =
    error instanceof WireError
      ? error
      : new WireError('failed', 'The server failed on this request; its log says why.');
  const { status, retryAfterMs } = known;
  if (status === 503 || retryAfterMs !== undefined)
    context.header('retry-after', String(Math.ceil((retryAfterMs ?? 1000) / 1000)));
  logFailure(context, error, log);
  const answer = context.json(known.toBody(), status as 400);
  return incomingOf(context).complete ? answer : refuse(context.env as HttpBindings, answer);
}

/** The default log. It shows only defects of the server. */
const logToConsole: Log = ({ message, code }) => {
  if (code === 'failed') console.error(message);
};

/**
 * Returns Node's request object. Its headers can be read at no cost. A web `Request` creates its headers when they are
 * first read.
 */
export const incomingOf = ({ env }: Context): HttpBindings['incoming'] => (env as HttpBindings).incoming;
