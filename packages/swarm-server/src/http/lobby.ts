import { isDeepStrictEqual } from 'node:util';
import { Hono } from 'hono';
import type { JsonObject } from '@agentjet/core';
import { createState } from '@agentjet/ledger';
import { parseRequest, runRequestSchema, WireError } from '@agentjet/swarm-wire';
import { answerError } from './door.js';
import { requireKey, type StoredKey } from './keys.js';

/** What a server that has no run yet answers: that there is none, until a commander begins one. */
export type LobbyOptions = {
  /** The commander's key. */
  readonly stored: StoredKey;
  /** Why the run before could not begin. */
  readonly failure: string | undefined;
  /** Throws WireError for a configuration that no run can have. */
  readonly check: (config: JsonObject) => void;
  /** Resolves when the configuration is on the disk: the commander is answered after that. */
  readonly keep: (config: JsonObject) => Promise<void>;
};

export type Lobby = {
  readonly app: Hono;
  /** The configuration of the run, once it is kept. */
  readonly begun: Promise<JsonObject>;
};

export function createLobby(options: LobbyOptions): Lobby {
  const { stored, failure, check, keep } = options;
  const state = createState();
  state.keys.set(stored.name, { kind: 'key', name: stored.name, content: stored });
  let begin: (config: JsonObject) => void = () => undefined;
  const begun = new Promise<JsonObject>((resolve) => {
    begin = resolve;
  });
  let first: { readonly config: JsonObject; readonly kept: Promise<void> } | undefined;
  const app = new Hono();
  const base = app.basePath('/swarm/v1');
  base.get('/healthz', (context) => context.json({ ok: true }));
  base.get('/readyz', (context) => context.json({ ok: false }, 503));
  base.put('/run', async (context) => {
    requireKey(state, context.req.header('authorization'), 'commander');
    const given = parseRequest(runRequestSchema, await context.req.json().catch(() => undefined)).config as JsonObject;
    check(given);
    const isFirst = first === undefined;
    first ??= { config: given, kept: keep(given) };
    if (!isDeepStrictEqual(first.config, given))
      throw new WireError('other_run', 'A run with another configuration is about to begin.');
    await first.kept.catch((error: unknown) => {
      first = undefined;
      throw error;
    });
    begin(given);
    return context.json({ run: '', revision: 0 }, isFirst ? 201 : 200, { connection: 'close' });
  });
  app.notFound((context) => {
    if (first !== undefined)
      return answerError(context, new WireError('not_ready', 'The run is about to begin.', { retryAfterMs: 500 }));
    const before = failure === undefined ? '' : ` The last one could not begin: ${failure}`;
    return answerError(
      context,
      new WireError('no_run', `There is no run yet. Begin one with PUT /swarm/v1/run.${before}`),
    );
  });
  app.onError((error, context) => answerError(context, error));
  return { app, begun };
}
