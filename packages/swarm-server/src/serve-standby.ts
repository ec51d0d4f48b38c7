import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { open, rename, rm } from 'node:fs/promises';
import { once } from 'node:events';
import path from 'node:path';
import { serve, type ServerType } from '@hono/node-server';
import { camelKeys, ConfigError, toErrorMessage, type CommonConfig, type JsonObject } from '@agentjet/core';
import { WireError } from '@agentjet/swarm-wire';
import { createKey, type StoredKey } from './http/keys.js';
import { createLobby, type LobbyOptions } from './http/lobby.js';
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
    if (known?.run != null) return begin(known.config, known.run);
    let config = known?.config; // begun, and never opened: its commander has the answer already
    for (let failure: string | undefined; ; config = undefined) {
      config ??= await waitForRun({ ...options, port, hostname, stored, failure }, (opened) => {
        lobby = opened;
        if (isClosed) void closed(opened);
      });
      lobby = undefined;
      if (isClosed) throw new Error('closed');
      try {
        const swarm = await begin(config);
        await keepRun(dir, { config, run: swarm.runDir });
        return swarm;
      } catch (error) {
        failure = toErrorMessage(error);
        await rm(runFile(dir), { force: true });
        if (isClosed) throw error;
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

/** `run` is its folder; null: a commander was told that it begins, and it is not open yet. */
type KnownRun = { readonly config: JsonObject; readonly run: string | null };

const runFile = (dir: string): string => path.join(dir, 'run.json');

function readRun(dir: string): KnownRun | undefined {
  return existsSync(runFile(dir)) ? (JSON.parse(readFileSync(runFile(dir), 'utf8')) as KnownRun) : undefined;
}

/** Resolves when the run is on the disk, whole. */
async function keepRun(dir: string, run: KnownRun): Promise<void> {
  const file = await open(`${runFile(dir)}.new`, 'w');
  try {
    await file.writeFile(JSON.stringify(run));
    await file.sync();
  } finally {
    await file.close();
  }
  await rename(`${runFile(dir)}.new`, runFile(dir));
}

type Lobby<Config extends CommonConfig> = Create<Config> &
  Pick<LobbyOptions, 'stored' | 'failure'> & { readonly port: number; readonly hostname: string };

/** Answers until a run is begun: to all but that, that there is none. Resolves with its configuration, and the port is free. */
async function waitForRun<Config extends CommonConfig>(
  lobby: Lobby<Config>,
  onOpen: (server: ServerType) => void,
): Promise<JsonObject> {
  const { port, hostname, dir } = lobby;
  const { app, begun } = createLobby({
    ...lobby,
    check: (config) => void create(lobby, config),
    keep: (config) => keepRun(dir, { config, run: null }),
  });
  const server = await new Promise<ServerType>((resolve, reject) => {
    const opened = serve({ fetch: app.fetch, hostname, port }, () => resolve(opened));
    opened.once('error', reject);
  });
  onOpen(server);
  const config = await Promise.race([begun, once(server, 'close').then(() => undefined)]);
  if (config === undefined) return {}; // closed meanwhile
  await new Promise((resolve) => setTimeout(resolve, 50)); // the answer goes first
  await closed(server);
  return config;
}

function closed(server: ServerType): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
    if ('closeAllConnections' in server) server.closeAllConnections();
  });
}
