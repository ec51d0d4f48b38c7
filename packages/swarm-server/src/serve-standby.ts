import { chmodSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { serve, type ServerType } from '@hono/node-server';
import { Hono } from 'hono';
import { camelKeys, ConfigError, toErrorMessage, type CommonConfig, type JsonObject } from '@agentjet/core';
import { createState } from '@agentjet/ledger';
import { parseRequest, runRequestSchema, WireError } from '@agentjet/swarm-wire';
import { answerError } from './http/door.js';
import { createKey, requireKey, type StoredKey } from './http/keys.js';
import { requireSafe } from './http/swarm-server.js';
import { refuseClientKeys } from './http/run-config.js';
import { serveSwarm, type ServedSwarm, type ServeSwarmOptions } from './serve-swarm.js';

/**
 * A server that waits for its run: a commander sends the configuration with PUT /run, from any machine. Its folder keeps the run
 * that was begun, so the same command goes on with it, and the hash of the commander's key.
 */
export type StandbyOptions<Config extends CommonConfig> = Omit<
  ServeSwarmOptions<Config>,
  'config' | 'run' | 'isNew' | 'firstKey' | 'port'
> & { readonly dir: string; readonly port: number };

export type Standby = {
  readonly url: string;
  /** Made at the first start, and shown then only. */
  readonly firstKey: string | undefined;
  /** Resolves with the server of the run, once one has begun. */
  readonly served: Promise<ServedSwarm>;
  readonly close: () => Promise<void>;
};

export async function serveStandby<Config extends CommonConfig>(options: StandbyOptions<Config>): Promise<Standby> {
  const { dir, port, hostname = '127.0.0.1', onNotice } = options;
  requireSafe(options);
  if (options.tls !== undefined)
    throw new ConfigError(
      'wrong_value',
      'A server that waits for its run speaks no TLS. Leave it on loopback, or put it after a proxy.',
    );
  mkdirSync(dir, { recursive: true });
  const { stored, firstKey } = openKey(path.join(dir, 'commander.json'));
  let lobby: ServerType | undefined;
  let isClosed = false;
  const begin = (config: JsonObject, run?: string): Promise<ServedSwarm> =>
    serveSwarm({ ...options, config: create(options, config), run, firstKey: stored, onNotice });
  const known = readRun(dir);
  const served = (async (): Promise<ServedSwarm> => {
    if (known !== undefined) return begin(known.config, known.run ?? undefined);
    for (let failure: string | undefined; ; ) {
      const { config, server } = await waitForRun({ ...options, port, hostname, stored, failure }, (opened) => {
        lobby = opened;
      });
      await closed(server);
      lobby = undefined;
      if (isClosed) throw new Error('closed');
      try {
        const swarm = await begin(config);
        writeFileSync(path.join(dir, 'run.json'), JSON.stringify({ config, run: swarm.runDir }));
        return swarm;
      } catch (error) {
        failure = toErrorMessage(error);
        rmSync(path.join(dir, 'run.json'), { force: true });
        onNotice(`The run could not begin: ${failure}`);
      }
    }
  })();
  served.catch(() => {});
  return {
    url: `http://${hostname}:${port}`,
    firstKey,
    served,
    close: async () => {
      isClosed = true;
      if (lobby !== undefined) return closed(lobby);
      await served.then((swarm) => swarm.close()).catch(() => {});
    },
  };
}

type Create<Config extends CommonConfig> = Pick<StandbyOptions<Config>, 'composition' | 'dir'>;

/** Throws WireError `unknown_config`, for keys that name code too: those belong to clients. */
function create<Config extends CommonConfig>({ composition, dir }: Create<Config>, given: JsonObject): Config {
  refuseClientKeys(given);
  try {
    const values = { experimentDir: path.join(dir, 'runs'), ...camelKeys(given) };
    return composition.create(values as unknown as Parameters<typeof composition.create>[0]);
  } catch (error) {
    throw error instanceof WireError ? error : new WireError('unknown_config', toErrorMessage(error));
  }
}

function openKey(file: string): { readonly stored: StoredKey; readonly firstKey: string | undefined } {
  if (existsSync(file)) return { stored: JSON.parse(readFileSync(file, 'utf8')) as StoredKey, firstKey: undefined };
  const { stored, answer } = createKey({ name: 'first', role: 'commander' });
  writeFileSync(file, JSON.stringify(stored), { mode: 0o600 });
  chmodSync(file, 0o600);
  return { stored, firstKey: answer.key };
}

function readRun(dir: string): { readonly config: JsonObject; readonly run: string | null } | undefined {
  const file = path.join(dir, 'run.json');
  return existsSync(file)
    ? (JSON.parse(readFileSync(file, 'utf8')) as { config: JsonObject; run: string | null })
    : undefined;
}

type Lobby<Config extends CommonConfig> = Create<Config> & {
  readonly port: number;
  readonly hostname: string;
  readonly stored: StoredKey;
  /** Why the run before could not begin. */
  readonly failure: string | undefined;
};

/** Answers until a run is begun: to all but that, that there is none. */
function waitForRun<Config extends CommonConfig>(
  lobby: Lobby<Config>,
  onOpen: (server: ServerType) => void,
): Promise<{ readonly config: JsonObject; readonly server: ServerType }> {
  const { port, hostname, stored, failure } = lobby;
  const state = createState();
  state.keys.set(stored.name, { kind: 'key', name: stored.name, content: stored });
  return new Promise((resolve, reject) => {
    const app = new Hono();
    let isBegun = false;
    const base = app.basePath('/swarm/v1');
    base.get('/healthz', (context) => context.json({ ok: true }));
    base.get('/readyz', (context) => context.json({ ok: false }, 503));
    base.put('/run', async (context) => {
      requireKey(state, context.req.header('authorization'), 'commander');
      const { config } = parseRequest(runRequestSchema, await context.req.json().catch(() => undefined));
      create(lobby, config as JsonObject);
      isBegun = true;
      setTimeout(() => resolve({ config: config as JsonObject, server }), 50).unref(); // the answer goes first
      return context.json({ run: '', revision: 0 }, 201, { connection: 'close' });
    });
    app.notFound((context) => {
      if (isBegun)
        return answerError(context, new WireError('not_ready', 'The run is about to begin.', { retryAfterMs: 500 }));
      const before = failure === undefined ? '' : ` The last one could not begin: ${failure}`;
      return answerError(
        context,
        new WireError('no_run', `There is no run yet. Begin one with PUT /swarm/v1/run.${before}`),
      );
    });
    app.onError((error, context) => answerError(context, error));
    const server = serve({ fetch: app.fetch, hostname, port }, () => onOpen(server));
    server.once('error', reject);
  });
}

function closed(server: ServerType): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
    if ('closeAllConnections' in server) server.closeAllConnections();
  });
}
