import { isDeepStrictEqual } from 'node:util';
import { Hono } from 'hono';
import { createState, type LedgerState } from '@agentjet/ledger';
import { parseRequest, runRequestSchema, WireError, type RunRequest } from '@agentjet/swarm-wire';
import type { Log } from '../log/log-entry.js';
import { answerError, incomingOf } from './door.js';
import { requireKey, type StoredKey } from './keys.js';
import { defaultLimits, readJson, type BodyLimits } from './read-json.js';

/** The answers of a server without a run. Every request gets an error until a commander begins a run. */
export type LobbyOptions = {
  /** The commander's key. */
  readonly stored: StoredKey;
  /** The reason why the previous run could not begin. Only the commander sees it. */
  readonly failure: string | undefined;
  readonly limits?: Partial<BodyLimits> | undefined;
  /** Throws WireError for a configuration that no run can have, and for an unknown run. */
  readonly check: (asked: RunRequest) => void;
  /**
   * Resolves with the run's name when it is on disk. The commander gets the answer after that. `by` is the name of the
   * commander's key.
   */
  readonly keep: (asked: RunRequest, by: string) => Promise<string>;
  /** Logs the requests that the server failed to answer. Default: stderr. */
  readonly log?: Log | undefined;
};

export type Lobby = {
  readonly app: Hono;
  /** Resolves as soon as the run is stored. */
  readonly begun: Promise<void>;
};

export function createLobby(options: LobbyOptions): Lobby {
  const { stored, failure, check, keep } = options;
  const state = createState();
  state.keys.set(stored.name, { kind: 'key', name: stored.name, content: stored });
  let begin = (): void => undefined;
  const begun = new Promise<void>((resolve) => {
    begin = resolve;
  });
  const limits = { ...defaultLimits, ...options.limits };
  let first: { readonly asked: RunRequest; readonly kept: Promise<string> } | undefined;
  const app = new Hono();
  const base = app.basePath('/swarm/v1');
  base.get('/healthz', (context) => context.json({ ok: true }));
  base.get('/readyz', (context) => context.json({ ok: false, state: 'no_run' }, 503));
  base.put('/run', async (context) => {
    const key = requireKey(state, context.req.header('authorization'), 'commander');
    const asked = parseRequest(runRequestSchema, await readJson(incomingOf(context), limits));
    check(asked);
    const isFirst = first === undefined;
    first ??= { asked, kept: keep(asked, key.name) };
    if (!isDeepStrictEqual(first.asked, asked))
      throw new WireError('other_run', 'A run with another configuration is about to begin.');
    const run = await first.kept.catch((error: unknown) => {
      first = undefined;
      throw error;
    });
    begin();
    return context.json({ run, revision: 0 }, isFirst ? 201 : 200, { connection: 'close' });
  });
  app.notFound((context) => {
    if (first !== undefined)
      return answerError(context, new WireError('not_ready', 'The run is about to begin.', { retryAfterMs: 500 }));
    const isTold = failure !== undefined && opens(state, context.req.header('authorization'));
    const before = isTold ? ` The last one could not begin: ${failure}` : '';
    return answerError(
      context,
      new WireError(
        'no_run',
        `There is no run yet. Begin one with "ajet swarm begin --conf <file>", or PUT /swarm/v1/run.${before}`,
      ),
    );
  });
  app.onError((error, context) => answerError(context, error, options.log));
  return { app, begun };
}

/** Returns whether the header has the commander's key. Only the commander may see why a run failed. */
function opens(state: LedgerState, header: string | undefined): boolean {
  try {
    requireKey(state, header, 'commander');
    return true;
  } catch {
    return false;
  }
}
