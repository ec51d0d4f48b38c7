import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { once } from 'node:events';
import path from 'node:path';
import { serve, type ServerType } from '@hono/node-server';
import {
  camelKeys,
  type CommonConfig,
  type ConfigComposition,
  ConfigError,
  type JsonObject,
  replaceFile,
  toErrorMessage,
} from '@agentjet/core';
import { closeServer, toListenError } from '@agentjet/core/servers';
import { WireError, type RunRequest } from '@agentjet/swarm-wire';
import { createKey, type StoredKey } from './http/keys.js';
import { findPort, toUrl } from './http/address.js';
import { createLobby, type LobbyOptions } from './http/lobby.js';
import { requireSafe } from './http/require-safe.js';
import { refuseClientKeys } from './http/run-config.js';
import { requireNoReach } from './served/require-no-reach.js';
import { serveSwarm, type ServedSwarm, type ServeSwarmOptions } from './serve-swarm.js';

/**
 * A server that waits for its run. A commander sends the configuration with PUT /run, from any machine, and ends the
 * run with DELETE /run. Then the server waits for another run. The server's folder keeps the run that was begun and the
 * hash of the commander's key, so the same command resumes the run.
 */
export type StandbyOptions<Config extends CommonConfig> = Omit<
  ServeSwarmOptions<Config>,
  'config' | 'run' | 'isNew' | 'firstKey' | 'begun' | 'port' | 'signal'
> & {
  readonly dir: string;
  readonly port: number;
  /** The time that running episodes have when the run is ended. Default: 30 seconds. */
  readonly drainMs?: number;
  /** Whether a run may name code, programs, files, folders and addresses of this machine. Default: false. */
  readonly allowsCode?: boolean;
};

export type Standby = {
  readonly url: string;
  /** Created at the first start, and shown only then. */
  readonly firstKey: string | undefined;
  /** Resolves with the server of the current run. If there is no run yet, it resolves when one begins. */
  readonly served: Promise<ServedSwarm>;
  /** Resolves with the error after which no run can be served any more. */
  readonly failed: Promise<unknown>;
  readonly close: () => Promise<void>;
};

/**
 * Starts a server that waits for its run.
 * @throws ConfigError if the address is not loopback and there is no proxy, if TLS is configured, or if the port cannot
 * be used
 */
export async function serveStandby<Config extends CommonConfig>(options: StandbyOptions<Config>): Promise<Standby> {
  const { dir, hostname = '127.0.0.1' } = options;
  requireSafe(options);
  if (options.tls !== undefined)
    throw new ConfigError(
      'wrong_value',
      'A server that waits for its run does not support TLS. Leave it on loopback, or put a proxy in front of it.',
    );
  const port = await findPort({ hostname, port: options.port }); // the same for all runs
  mkdirSync(dir, { recursive: true });
  const { stored, firstKey } = openKey(path.join(dir, 'commander.json'));
  const runs = new RunsInTurn({ ...options, hostname, port, stored });
  runs.start();
  return {
    url: toUrl({ hostname, port }),
    firstKey,
    get served() {
      return runs.served;
    },
    failed: runs.failed,
    close: () => runs.close(),
  };
}

type InTurnOptions<Config extends CommonConfig> = StandbyOptions<Config> & {
  readonly hostname: string;
  readonly stored: StoredKey;
};

/** Serves one run after another at the same address. */
class RunsInTurn<Config extends CommonConfig> {
  served: Promise<ServedSwarm>;
  readonly failed: Promise<unknown>;
  #resolve: (swarm: ServedSwarm) => void = () => undefined;
  #reject: (error: unknown) => void = () => undefined;
  readonly #options: InTurnOptions<Config>;
  #fail: (error: unknown) => void = () => undefined;
  #lobby: ServerType | undefined;
  readonly #closing = new AbortController();

  constructor(options: InTurnOptions<Config>) {
    this.#options = options;
    this.served = this.#next();
    this.failed = new Promise((resolve) => {
      this.#fail = resolve;
    });
  }

  start(): void {
    void this.#serveAll().catch((error: unknown) => {
      this.#reject(error);
      if (!this.#isClosed) this.#fail(error);
    });
  }

  async close(): Promise<void> {
    this.#closing.abort(new Error('The server is closing.'));
    if (this.#lobby !== undefined) return closeServer(this.#lobby);
    await this.served.then((swarm) => swarm.close()).catch(() => {});
  }

  get #isClosed(): boolean {
    return this.#closing.signal.aborted;
  }

  #next(): Promise<ServedSwarm> {
    const served = new Promise<ServedSwarm>((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    served.catch(() => {});
    return served;
  }

  async #serveAll(): Promise<void> {
    const { dir, drainMs = 30_000, onNotice } = this.#options;
    for (let failure: string | undefined; ; ) {
      // the file may name a run that was begun but never opened, although its commander already has the answer
      const known = readRun(dir) ?? (await this.#wait(failure));
      if (known === undefined || this.#isClosed) throw new Error('closed');
      let onEnd = (): void => undefined;
      const ended = new Promise<void>((resolve) => {
        onEnd = resolve;
      });
      try {
        const swarm = await this.#begin(known, onEnd);
        await keepRun(dir, { ...known, run: swarm.runDir });
        failure = undefined;
        this.#resolve(swarm);
        void swarm.server.deposed.then((error) => this.#fail(error));
        onNotice(`Serving the run ${swarm.runDir}`);
        await ended;
        this.served = this.#next();
        await swarm.server.finish(drainMs);
        await swarm.close();
        await rm(runFile(dir), { force: true });
        onNotice(`The run ${known.name} has ended. The server waits for another.`);
      } catch (error) {
        // If this server is closing, the next server begins the run.
        if (known.run !== null || this.#isClosed) throw error;
        failure = toErrorMessage(error);
        await rm(runFile(dir), { force: true });
        onNotice(`The run could not begin: ${failure}`, 'error');
      }
    }
  }

  #begin({ config, run, name, begun }: KnownRun, end: () => void): Promise<ServedSwarm> {
    const { app, stored, ...others } = this.#options;
    const created = create(this.#options, { config, name });
    return serveSwarm({
      ...others,
      config: created,
      signal: this.#closing.signal,
      run: run ?? undefined,
      firstKey: stored,
      begun: begun && { ...begun, run: name },
      app: { ...app, standby: { name, end } },
    });
  }

  /** Resolves with the run that was begun; undefined if the server was closed. */
  async #wait(failure: string | undefined): Promise<KnownRun | undefined> {
    const { dir } = this.#options;
    const check = (asked: RunRequest): void => void create(this.#options, toRun(dir, asked));
    const keep = async (asked: RunRequest, by: string): Promise<string> => {
      const run = { ...toRun(dir, asked), begun: { at: new Date().toISOString(), by } };
      await keepRun(dir, run);
      return run.name;
    };
    const { app, onLog: log } = this.#options;
    await waitForRun({ ...this.#options, limits: app?.limits, log, failure, check, keep }, (opened) => {
      this.#lobby = opened;
      if (this.#isClosed) void closeServer(opened);
    });
    this.#lobby = undefined;
    return readRun(dir);
  }
}

type Create<Config extends CommonConfig> = Pick<StandbyOptions<Config>, 'composition' | 'dir' | 'allowsCode'>;

/**
 * Creates the configuration of a run. Throws WireError `unknown_config` for unknown keys, and for keys that belong to
 * the clients. Throws `code_refused` for values that name code, files or addresses, unless `allowsCode` is set.
 */
function create<Config extends CommonConfig>(
  { composition, dir, allowsCode = false }: Create<Config>,
  { config, name }: Pick<KnownRun, 'config' | 'name'>,
): Config {
  refuseClientKeys(config);
  try {
    const build = (values: object): Config =>
      composition.create(values as unknown as Parameters<typeof composition.create>[0]);
    const experimentDir = path.join(dir, name);
    const created = build({ experimentDir, ...camelKeys(config) });
    const plain = composition as unknown as ConfigComposition;
    if (!allowsCode) requireNoReach(created, { composition: plain, own: build({ experimentDir }) });
    return created;
  } catch (error) {
    throw error instanceof WireError ? error : new WireError('unknown_config', toErrorMessage(error));
  }
}

/** Finds or creates the run that is asked for. Throws WireError `other_run` for an unknown run. */
function toRun(dir: string, { config, run }: RunRequest): KnownRun {
  const names = runNames(dir);
  if (run !== undefined && !names.includes(run))
    throw new WireError(
      'other_run',
      `There is no run ${JSON.stringify(run)}; there are: ${names.join(', ') || 'none'}.`,
    );
  return { config: config as JsonObject, run: null, name: run ?? freeName(dir) };
}

/**
 * Returns the names of the folders of runs: `runs`, `runs-2`, and so on. Each run has its own folder, so the server
 * finds a run that is requested again.
 */
const runNames = (dir: string): readonly string[] => readdirSync(dir).filter((name) => /^runs(-\d+)?$/.test(name));

function freeName(dir: string): string {
  const numbers = runNames(dir).map((name) => Number(name.slice('runs-'.length) || 1));
  return numbers.length === 0 ? 'runs' : `runs-${Math.max(...numbers) + 1}`;
}

function openKey(file: string): { readonly stored: StoredKey; readonly firstKey: string | undefined } {
  if (existsSync(file)) return { stored: JSON.parse(readFileSync(file, 'utf8')) as StoredKey, firstKey: undefined };
  const { stored, answer } = createKey({ name: 'first', role: 'commander' });
  writeFileSync(file, JSON.stringify(stored), { mode: 0o600 });
  chmodSync(file, 0o600);
  return { stored, firstKey: answer.key };
}

/** `run` is the folder of the run. It is null if the commander already has the answer but the run is not open yet. */
type KnownRun = {
  readonly config: JsonObject;
  readonly run: string | null;
  readonly name: string;
  /** The time of the request and the name of the key. */
  readonly begun?: { readonly at: string; readonly by: string };
};

const runFile = (dir: string): string => path.join(dir, 'run.json');

function readRun(dir: string): KnownRun | undefined {
  if (!existsSync(runFile(dir))) return undefined;
  return { name: 'runs', ...(JSON.parse(readFileSync(runFile(dir), 'utf8')) as Omit<KnownRun, 'name'>) };
}

/** Resolves when the whole run is on disk. */
const keepRun = (dir: string, run: KnownRun): Promise<void> => replaceFile(runFile(dir), JSON.stringify(run));

type Lobby = LobbyOptions & { readonly port: number; readonly hostname: string };

/**
 * Listens until a run is begun. It answers all other requests with an error that says that there is no run. It resolves
 * after a run was begun, or the server was closed, and the port is free.
 */
async function waitForRun(lobby: Lobby, onOpen: (server: ServerType) => void): Promise<void> {
  const { port, hostname } = lobby;
  const { app, begun } = createLobby(lobby);
  const server = await new Promise<ServerType>((resolve, reject) => {
    const opened = serve({ fetch: app.fetch, hostname, port }, () => resolve(opened));
    opened.once('error', (error) => reject(toListenError(error, toUrl({ hostname, port }))));
  });
  onOpen(server);
  const isBegun = await Promise.race([begun.then(() => true), once(server, 'close').then(() => false)]);
  if (!isBegun) return;
  await new Promise((resolve) => setTimeout(resolve, 50)); // so that the answer is sent first
  await closeServer(server);
}
