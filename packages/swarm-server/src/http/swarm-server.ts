import { readFileSync } from 'node:fs';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { serve, type ServerType } from '@hono/node-server';
import { ConfigError, toErrorMessage } from '@agentjet/core';
import { systemHost, type Store, type StoreError } from '@agentjet/ledger';
import type { SwarmSettings } from '../swarm/settings.js';
import { Swarm, type SwarmOptions } from '../swarm/swarm.js';
import { createKey } from './keys.js';
import { createSwarmApp, type SwarmAppOptions } from './swarm-app.js';

/**
 * A swarm that listens. When its store fails, it forgets what it knew, folds the store again and goes on; when another
 * server has taken the store over, it stops.
 */
export class SwarmServer {
  /** Made at the first start, and shown then only. */
  readonly firstKey: string | undefined;
  readonly url: string;
  readonly #server: ServerType;
  readonly #loop: SwarmLoop;

  private constructor(
    server: ServerType,
    loop: SwarmLoop,
    more: { readonly url: string; readonly firstKey: string | undefined },
  ) {
    this.#server = server;
    this.#loop = loop;
    this.url = more.url;
    this.firstKey = more.firstKey;
  }

  /** @throws ConfigError if it would listen beyond loopback without TLS or a proxy, StoreError if the store cannot be had */
  static async start(options: SwarmServerOptions): Promise<SwarmServer> {
    requireSafe(options);
    const loop = new SwarmLoop(options);
    await loop.open();
    const firstKey = await loop.makeFirstKey(options.app?.needsKey !== false);
    const app = createSwarmApp(() => loop.swarm, options.app);
    const { hostname = '127.0.0.1', port = 0, tls } = options;
    const server = await listen(app.fetch, { hostname, port, tls });
    const { port: chosen } = server.address() as AddressInfo;
    return new SwarmServer(server, loop, {
      url: `${tls === undefined ? 'http' : 'https'}://${hostname}:${chosen}`,
      firstKey,
    });
  }

  get swarm(): Swarm | undefined {
    return this.#loop.swarm;
  }

  /** Stops listening and lets the store go. What was acknowledged stays; another server may go on with it. */
  async close(): Promise<void> {
    await this.#loop.close();
    await new Promise<void>((resolve) => {
      this.#server.close(() => resolve());
      if ('closeAllConnections' in this.#server) this.#server.closeAllConnections();
    });
  }
}

export type SwarmServerOptions = Pick<SwarmOptions, 'tasks' | 'access'> & {
  readonly openStore: () => Promise<Store>;
  /** A trainer for each life of the swarm: it loads the newest checkpoint itself. */
  readonly openTrainer: () => Promise<SwarmOptions['trainer']>;
  readonly settings: SwarmSettings;
  /** Default: loopback. */
  readonly hostname?: string;
  readonly port?: number;
  /** Files of a certificate and its key. */
  readonly tls?: { readonly cert: string; readonly key: string } | undefined;
  /** A proxy in front of it speaks TLS. */
  readonly isBehindProxy?: boolean;
  readonly app?: SwarmAppOptions;
  readonly onNotice?: (message: string) => void;
};

/** One swarm after the other on the same store. */
class SwarmLoop {
  readonly #options: SwarmServerOptions;
  #swarm: Swarm | undefined;
  #store: Store | undefined;
  #isClosed = false;

  constructor(options: SwarmServerOptions) {
    this.#options = options;
  }

  get swarm(): Swarm | undefined {
    return this.#swarm;
  }

  async open(): Promise<void> {
    const { openStore, openTrainer, settings, tasks, access, onNotice } = this.#options;
    this.#store = await openStore();
    try {
      this.#swarm = await Swarm.open({
        host: systemHost,
        store: this.#store,
        settings,
        trainer: await openTrainer(),
        ...(tasks !== undefined && { tasks }),
        ...(access !== undefined && { access }),
        onEnd: (error) => void this.#goOn(error),
        onTrainerFailure: (error) => onNotice?.(`Training has stopped: ${toErrorMessage(error)}`),
      });
    } catch (error) {
      await this.#store.close();
      throw error;
    }
  }

  async makeFirstKey(needsKey: boolean): Promise<string | undefined> {
    const swarm = this.#swarm;
    if (!needsKey || swarm === undefined || swarm.context.ledger.state.keys.size > 0) return undefined;
    const { stored, answer } = createKey({ name: 'first', role: 'commander' });
    await swarm.keep(stored.name, stored);
    return answer.key;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    const swarm = this.#swarm;
    swarm?.close();
    await swarm?.closed();
    await this.#store?.close();
  }

  /** A failed commit is a crash: fold again, and only then go on. */
  async #goOn(error: StoreError): Promise<void> {
    const swarm = this.#swarm;
    this.#swarm = undefined;
    if (this.#isClosed) return;
    this.#options.onNotice?.(error.message);
    await swarm?.closed();
    await this.#store?.close();
    if (error.code === 'not_owner') return;
    for (let delayMs = 100; !this.#isClosed; delayMs = Math.min(2 * delayMs, 10_000)) {
      try {
        return await this.open();
      } catch (failure) {
        this.#options.onNotice?.(toErrorMessage(failure));
        await new Promise((resolve) => systemHost.after(delayMs, () => resolve(undefined)));
      }
    }
  }
}

type Listen = {
  readonly hostname: string;
  readonly port: number;
  readonly tls: SwarmServerOptions['tls'];
};

function listen(
  fetch: (request: Request) => Response | Promise<Response>,
  { hostname, port, tls }: Listen,
): Promise<ServerType> {
  const secure =
    tls === undefined
      ? {}
      : { createServer, serverOptions: { cert: readFileSync(tls.cert), key: readFileSync(tls.key) } };
  return new Promise((resolve, reject) => {
    const server = serve({ fetch, hostname, port, ...secure }, () => resolve(server));
    server.once('error', reject);
  });
}

function requireSafe({ hostname = '127.0.0.1', tls, isBehindProxy = false, app }: SwarmServerOptions): void {
  const isLocal = ['127.0.0.1', '::1', 'localhost'].includes(hostname);
  if (isLocal) return;
  if (app?.needsKey === false) {
    throw new ConfigError(
      'keys_needed',
      `Without keys the server listens on loopback only, not on ${hostname}. Leave --no-keys out.`,
    );
  }
  if (tls !== undefined || isBehindProxy) return;
  throw new ConfigError(
    'tls_needed',
    `The server would send keys over plain HTTP on ${hostname}. Give --tls-cert and --tls-key, or say that a proxy in front of it speaks TLS, or use loopback through an ssh tunnel.`,
  );
}
