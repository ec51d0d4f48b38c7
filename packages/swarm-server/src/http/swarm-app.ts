import type { HttpBindings } from '@hono/node-server';
import { Hono, type Context } from 'hono';
import {
  abandonRequestSchema,
  auditQuerySchema,
  claimRequestSchema,
  createOpenApi,
  endRequestSchema,
  dropQuerySchema,
  episodesQuerySchema,
  eventsHeaders,
  groupsQuerySchema,
  heartbeatRequestSchema,
  rewardsRequestSchema,
  serverQuerySchema,
  WireError,
  type ClaimedEpisode,
  type ServerState,
} from '@agentjet/swarm-wire';
import { systemHost, shareOf } from '@agentjet/ledger';
import type { Log } from '../log/log-entry.js';
import type { Swarm } from '../swarm/swarm.js';
import { addCheckpoints, type CheckpointDirs } from './checkpoint-routes.js';
import {
  answerError,
  audit,
  readHeaders,
  incomingOf,
  Door,
  requireBounds,
  requireSum,
  requireScorer,
  rewardsIn,
  scoredShares,
  toClaimKey,
  unknownRoute,
} from './door.js';
import { originOf } from './address.js';
import { ReadTurns, respondEvents } from './events.js';
import type { KeyLimiter } from './key-limits.js';
import { addKeys } from './key-routes.js';
import { renderMetrics } from './metrics.js';
import { defaultLimits, type BodyLimits } from './read-json.js';
import type { RunConfig } from './run-config.js';
import { addRun, type StandbyRun } from './run-routes.js';
import { Telemetry } from './telemetry.js';

/**
 * The swarm over HTTP. Keys are checked before bodies, bodies have limits, and every error has a code from a fixed
 * list. `current` returns the working swarm, or undefined during a recovery.
 */
export function createSwarmApp(current: () => Swarm | undefined, options: SwarmAppOptions = {}): Hono {
  const limits = { ...defaultLimits, ...options.limits };
  const { telemetry = new Telemetry() } = options;
  const app = new Hono();
  const door = new Door(current, limits, options);
  const base = app.basePath('/swarm/v1');
  base.get('/healthz', (context) => context.json({ ok: true }));
  base.get('/readyz', (context) => {
    const ready = readyState(current());
    return context.json(ready, ready.ok ? 200 : 503);
  });
  let contract: ReturnType<typeof createOpenApi> | undefined;
  base.get(
    '/openapi.json',
    door.read('observer', async () => (contract ??= createOpenApi())),
  );
  base.get(
    '/server',
    door.ask('observer', serverQuerySchema, async (swarm, { after, wait = 0 }) => {
      if (after !== undefined) await swarm.changed(after, Math.min(wait, longestWaitSeconds) * 1000);
      return swarm.describe();
    }),
  );
  const turns = new ReadTurns();
  base.get(
    '/events',
    door.raw('observer', async (swarm, context, key) => {
      const close = door.limiter.openStream(key);
      (context.env as HttpBindings).outgoing.once('close', close);
      const { 'last-event-id': lastEventId } = readHeaders(context, eventsHeaders);
      return respondEvents(swarm, { lastEventId, turns, key });
    }),
  );
  base.get(
    '/metrics',
    door.raw('observer', async (swarm, context) => {
      const { text, contentType } = await renderMetrics(swarm, telemetry, options.disks);
      return context.body(text, 200, { 'content-type': contentType });
    }),
  );
  addEpisodes(base, door, { ...options, telemetry });
  addRunning(base, door, telemetry);
  addRun(base, door, options);
  addKeys(base, door);
  addCheckpoints(base, door, options.checkpoints);
  const refuse = (context: Context, error: unknown): Response | Promise<Response> => {
    telemetry.noteError(error instanceof WireError ? error.code : 'failed');
    return answerError(context, error, options.log);
  };
  app.notFound((context) => refuse(context, unknownRoute(context)));
  app.onError((error, context) => refuse(context, error));
  return app;
}

export type SwarmAppOptions = {
  readonly limits?: Partial<BodyLimits>;
  /** Limits the use of each key. Default: a limiter for these routes only. */
  readonly limiter?: KeyLimiter;
  /** If false, every request may do everything. This is allowed only for a server that listens on loopback. */
  readonly needsKey?: boolean;
  /**
   * Whether a proxy in front of the server sets the headers `x-forwarded-proto` and `x-forwarded-host`. Default: false.
   */
  readonly isBehindProxy?: boolean;
  /** A key that is kept in memory only, for a client in the process of the server. It may do everything. */
  readonly ownKey?: string;
  /**
   * The address by which clients reach this server, such as `https://swarm.example.org`. Default: taken from the
   * request.
   */
  readonly origin?: string;
  /** The changes that clients may make. Default: clients may change any key, and values are not checked. */
  readonly config?: RunConfig;
  /** The current run of a server that waits for runs. */
  readonly standby?: StandbyRun;
  /** The folders of the checkpoints that commanders may download. */
  readonly checkpoints?: CheckpointDirs;
  /** The folders, by name, whose free disk space the metrics show. */
  readonly disks?: Readonly<Record<string, string>>;
  readonly telemetry?: Telemetry;
  /** Logs the requests that the server failed to answer. Default: stderr. */
  readonly log?: Log;
};

/** Returns whether the server accepts work. It accepts none while it recovers or drains, and after it has failed. */
function readyState(swarm: Swarm | undefined): { readonly ok: boolean; readonly state: ServerState } {
  if (swarm === undefined) return { ok: false, state: 'recovering' };
  const state = swarm.context.intake.isClosing ? 'draining' : swarm.describe().state;
  return { ok: !unready.has(state), state };
}

const unready: ReadonlySet<ServerState> = new Set(['booting', 'recovering', 'draining', 'failed']);

function withOrigin(episode: ClaimedEpisode, origin: string): ClaimedEpisode {
  const { base_url } = episode;
  return base_url.startsWith('/') ? { ...episode, base_url: origin + base_url } : episode;
}

const longestWaitSeconds = 30;

function addEpisodes(base: Hono, door: Door, options: SwarmAppOptions & { readonly telemetry: Telemetry }): void {
  const { telemetry } = options;
  base.post(
    '/episodes',
    door.write('worker', claimRequestSchema, async (swarm, claim, { context, key }) => {
      const sinceMs = systemHost.now();
      const answer = await swarm.claim(claim, toClaimKey(key, swarm));
      telemetry.noteClaim(answer, (systemHost.now() - sinceMs) / 1000);
      const origin = options.origin ?? originOf(context.req.url, incomingOf(context).headers, options.isBehindProxy);
      context.status(answer.episodes.length > 0 ? 201 : 200);
      return {
        ...answer,
        episodes: answer.episodes.map((episode) => withOrigin(episode, origin)),
      };
    }),
  );
  base.get(
    '/episodes',
    door.ask('observer', episodesQuerySchema, (swarm, { limit = 100, ...query }) =>
      swarm.episodes({ ...query, limit: Math.min(limit, 1000) }),
    ),
  );
  base.delete(
    '/episodes',
    door.ask('commander', dropQuerySchema, async (swarm, { key: name }, { key }) => {
      await audit(swarm, key, { what: 'episodes_dropped', key: name });
      return { dropped: await swarm.dropOf(name) };
    }),
  );
  base.get(
    '/clients',
    door.read('observer', (swarm) => swarm.clients()),
  );
  base.get(
    '/audit',
    door.ask('commander', auditQuerySchema, async (swarm, { after = 0, limit = 1000 }) => {
      const { audit: all } = swarm.context.ledger.state;
      const end = after + Math.min(Math.max(1, limit), 1000);
      const entries = all.slice(after, end).map(({ kind: _kind, ...entry }) => entry);
      return { entries, ...(end < all.length && { next: end }) };
    }),
  );
  base.get(
    '/episodes/:id',
    door.read('observer', (swarm, context) => swarm.episode(context.req.param('id') ?? '')),
  );
}

/** The routes of running episodes and their groups. */
function addRunning(base: Hono, door: Door, telemetry: Telemetry): void {
  base.post(
    '/heartbeats',
    door.write('worker', heartbeatRequestSchema, (swarm, beat, { key }) => swarm.heartbeat(beat, toClaimKey(key))),
  );
  base.post(
    '/episodes/:id/end',
    door.write('worker', endRequestSchema, async (swarm, end, { context, key }) => {
      if (key?.rewardBounds !== undefined) {
        for (const reward of rewardsIn(end)) requireBounds(reward, key);
        requireSum(end, key);
      }
      door.limiter.requireEnd(key, end, Number(incomingOf(context).headers['content-length']));
      const sinceMs = systemHost.now();
      const id = context.req.param('id') ?? '';
      const { episodes, groups } = swarm.context.ledger.state;
      const share = shareOf(groups.get(episodes.get(id)?.groupId ?? '') ?? {});
      const receipt = await swarm.end(id, end, toClaimKey(key));
      telemetry.noteEnd(end, share, (systemHost.now() - sinceMs) / 1000);
      return receipt;
    }),
  );
  base.post(
    '/episodes/:id/abandon',
    door.write('worker', abandonRequestSchema, (swarm, request, { context, key }) =>
      swarm.abandon(context.req.param('id') ?? '', request, toClaimKey(key)),
    ),
  );
  base.get(
    '/groups',
    door.ask('worker', groupsQuerySchema, (swarm, { state, after, limit = 1000 }, { key }) => {
      const page = { after, limit: Math.min(Math.max(1, limit), 1000) };
      return swarm.unscored(state !== 'unscored', scoredShares(key), page);
    }),
  );
  base.put(
    '/groups/:id/rewards',
    door.write('worker', rewardsRequestSchema, async (swarm, request, { context, key }) => {
      const groupId = context.req.param('id') ?? '';
      requireScorer(key, (await swarm.group(groupId)).share);
      for (const { reward } of request.rewards) requireBounds(reward, key);
      await swarm.score(groupId, request);
      return swarm.group(groupId);
    }),
  );
}
