import type { AddressInfo } from 'node:net';
import { setTimeout } from 'node:timers/promises';
import type { HttpBindings, ServerType } from '@hono/node-server';
import { toErrorMessage } from '@agentjet/core';
import { notOwner, RecordIndex, StoreError, systemHost, type Store } from '@agentjet/ledger';
import type { EpisodeKeys } from '../model/episode-keys.js';
import type { SwarmModel } from '../model/swarm-model.js';
import { logRecords, noteCall, withLog } from '../log/log-swarm.js';
import { noteDeadEngine } from '../swarm/keep-training.js';
import { RecentFailures } from '../swarm/recent-failures.js';
import { Swarm } from '../swarm/swarm.js';
import type { SwarmMeter, SwarmOptions } from '../swarm/swarm-options.js';
import { toStoreError, toWireError } from '../swarm/to-wire-error.js';
import { toUrl } from './address.js';
import { InFlight } from './in-flight.js';
import { KeyLimiter } from './key-limits.js';
import { createKey } from './keys.js';
import { listen } from './listen.js';
import { ModelApp, pathOf, type Serving } from './model-app.js';
import { requireSafe } from './require-safe.js';
import type { SwarmServerOptions } from './server-options.js';
import { createSwarmApp } from './swarm-app.js';
import { Telemetry } from './telemetry.js';

/**
 * A swarm that listens for requests. If its store fails, it reads the store again. If another server takes the store
 * over, it stops.
 */
export class SwarmServer {
  /** Created at the first start, and shown only then. */
  readonly firstKey: string | undefined;
  readonly url: string;
  readonly #server: ServerType;
  readonly #loop: SwarmLoop;
  readonly #inFlight: InFlight;

  private constructor(server: ServerType, loop: SwarmLoop, more: ServerParts) {
    this.#server = server;
    this.#loop = loop;
    this.#inFlight = more.inFlight;
    this.url = more.url;
    this.firstKey = more.firstKey;
  }

  /**
   * Throws ConfigError if the host is not loopback and there is neither TLS nor a proxy, and StoreError if the store
   * cannot be opened.
   */
  static async start(options: SwarmServerOptions): Promise<SwarmServer> {
    requireSafe(options);
    const telemetry = new Telemetry();
    const loop = new SwarmLoop(options, telemetry);
    await loop.open();
    const { needsKey = true, ownKey } = options.app ?? {};
    const firstKey = await loop.makeFirstKey(needsKey && ownKey === undefined);
    await loop.auditBegin();
    const limiter = new KeyLimiter();
    const app = createSwarmApp(() => loop.swarmToAsk, {
      ...options.app,
      limiter,
      isBehindProxy: options.isBehindProxy ?? false,
      telemetry,
      ...(options.onLog !== undefined && { log: options.onLog }),
    });
    const models = new ModelApp(loop, { limiter });
    const { hostname = '127.0.0.1', port = 0, tls } = options;
    const inFlight = new InFlight();
    const fetch = (request: Request, env: HttpBindings): Response | Promise<Response> => {
      inFlight.note(env);
      if (!pathOf(request.url).startsWith('/e/')) return app.fetch(request, env);
      return noteCall(models.fetch(request, env), { request, telemetry, log: options.onLog });
    };
    const server = await listen(fetch, { hostname, port, tls }).catch(async (error: unknown) => {
      await loop.close();
      throw error;
    });
    const { port: chosen } = server.address() as AddressInfo;
    const url = toUrl({ hostname, port: chosen }, tls === undefined ? 'http' : 'https');
    return new SwarmServer(server, loop, { url, firstKey, inFlight });
  }

  get swarm(): Swarm | undefined {
    return this.#loop.swarm;
  }

  /**
   * Resolves when another server has taken the store over. From then on, this server answers `not_owner`, and you have
   * to close it.
   */
  get deposed(): Promise<StoreError> {
    return this.#loop.deposed;
  }

  /** Lets running episodes end, makes the steps that are due and saves a checkpoint. Call `close` afterwards. */
  async finish(patienceMs: number): Promise<void> {
    await this.#loop.swarm?.finish(patienceMs);
  }

  /** Stops listening, answers pending requests, and releases the store for another server. */
  async close(): Promise<void> {
    const closed = new Promise<void>((resolve) => void this.#server.close(() => resolve()));
    await this.#inFlight.settled(longestAnswerMs);
    await this.#loop.close();
    if ('closeAllConnections' in this.#server) this.#server.closeAllConnections();
    await closed;
  }
}

type ServerParts = {
  readonly url: string;
  readonly firstKey: string | undefined;
  readonly inFlight: InFlight;
};

/** A stopping server waits at most this long for the answers to pending requests. */
const longestAnswerMs = 5000;

/** Runs one swarm on the store, and opens another one whenever it fails. */
class SwarmLoop {
  readonly #options: SwarmServerOptions;
  readonly #meter: SwarmMeter;
  readonly #sinceMs = systemHost.now();
  #swarm: Swarm | undefined;
  #store: Store | undefined;
  #model: SwarmModel | undefined;
  #keys: EpisodeKeys | undefined;
  #numLives = 0;
  /** Calls that wait for the next swarm. */
  readonly #waiting = new Set<() => void>();
  #isOver = false;
  #taken: StoreError | undefined;
  /** The error of a store that cannot be opened again, because its disk is full. */
  #full: StoreError | undefined;
  #tellTaken: (error: StoreError) => void = () => undefined;
  readonly deposed = new Promise<StoreError>((resolve) => {
    this.#tellTaken = resolve;
  });
  /** The times of recent failures of the trainer or the engine. */
  readonly #failures = new RecentFailures();
  /** The swarm that is about to be closed so that its model can be opened again. */
  #leaving: Swarm | undefined;
  #isClosed = false;

  constructor(options: SwarmServerOptions, { meter }: Telemetry) {
    this.#options = options;
    this.#meter = withLog(meter, options.onLog);
  }

  get swarm(): Swarm | undefined {
    return this.#swarm;
  }

  /**
   * The swarm for requests. Undefined while there is none. Throws WireError `not_owner` if no other swarm will be
   * opened.
   */
  get swarmToAsk(): Swarm | undefined {
    if (this.#taken !== undefined) throw toWireError(this.#taken);
    if (this.#swarm === undefined && this.#full !== undefined) throw toWireError(this.#full);
    return this.#swarm;
  }

  /** The swarm and the model that answer calls. Undefined without a swarm or without a model. */
  get serving(): Serving | undefined {
    const [swarm, model] = [this.#swarm, this.#model];
    return swarm === undefined || model === undefined ? undefined : { swarm, model };
  }

  get keys(): EpisodeKeys | undefined {
    return this.#keys;
  }

  async opened(waitMs: number): Promise<Serving | undefined> {
    if (this.serving !== undefined || this.#isOver) return this.serving;
    await new Promise<void>((resolve) => {
      const cancel = systemHost.after(waitMs, () => go());
      const go = (): void => {
        cancel();
        this.#waiting.delete(go);
        resolve();
      };
      this.#waiting.add(go);
    });
    return this.serving;
  }

  /** Wakes the waiting calls. Called when the next swarm works, and when no other swarm will be opened. */
  #wake(): void {
    for (const go of this.#waiting) go();
  }

  async open(): Promise<void> {
    const { openStore, settings, tasks } = this.#options;
    let isHeld = true;
    const store = await openStore((error) => {
      if (isHeld) this.#swarm?.close(toStoreError(error));
      isHeld = false;
    });
    this.#store = store;
    try {
      if (this.#numLives > 0 && store.isTaken()) throw notOwner();
      const records = new RecordIndex(store);
      this.#swarm = await Swarm.open({
        host: systemHost,
        store,
        settings,
        records,
        gather,
        ...(await this.#openParts(records)),
        ...(tasks !== undefined && { tasks }),
        onEnd: (error) => {
          isHeld = false;
          void this.#goOn(error);
        },
        ...(this.#numLives === 0 && { rewindTo: this.#options.rewindTo }),
        onTrainerFailure: (error) => void this.#openAgain(error),
        onWanted: () => void this.#openOnOrder(),
        runDisk: this.#options.runDisk,
        name: this.#options.name,
        sinceMs: this.#sinceMs,
        meter: this.#meter,
        onNotice: this.#options.onNotice,
      });
      this.#numLives++;
      this.#full = undefined;
      if (this.#options.onLog !== undefined) logRecords(this.#swarm, this.#options.onLog);
      this.#model?.episodes.attach(this.#swarm);
      this.#wake();
    } catch (error) {
      await this.#release();
      throw error;
    }
  }

  async #openParts(records: RecordIndex): Promise<Pick<SwarmOptions, 'trainer' | 'policies' | 'model' | 'access'>> {
    const { openModel, openTrainer, access, settings, policySettings, onFatal } = this.#options;
    if (openModel !== undefined) {
      const model = await openModel(records, (error, policy) => {
        if (onFatal !== undefined) onFatal(error);
        else if (this.#swarm?.breakPolicy(policy, error) !== true) void this.#openAgain(error, true);
      });
      this.#model = model;
      this.#keys = model.keys;
      const policies = model.trainers.map(({ name, trainer, reopen }) => {
        return {
          name,
          trainer,
          settings: policySettings?.[name] ?? settings,
          ...(onFatal === undefined && { reopen }),
        };
      });
      return { policies, model: model.episodes, access: model.access };
    }
    if (openTrainer === undefined) throw new TypeError('A swarm server needs openModel or openTrainer.');
    return { trainer: await openTrainer(), ...(access !== undefined && { access }) };
  }

  /**
   * Waits until the training ends, and releases the model and the store. If another server has taken the store over, a
   * running step no longer matters, so the wait is short.
   */
  async #settle(swarm: Swarm | undefined): Promise<void> {
    const settled = swarm?.closed().then(() => this.#release());
    if (this.#taken === undefined) return settled ?? this.#release();
    await Promise.race([settled, setTimeout(this.#options.stepPatienceMs ?? 2000)]);
  }

  /** Releases the store and the model, so that they can be opened again. */
  async #release(): Promise<void> {
    const model = this.#model;
    this.#model = undefined;
    await model?.close();
    await this.#store?.close();
  }

  async makeFirstKey(needsKey: boolean): Promise<string | undefined> {
    const swarm = this.#swarm;
    if (!needsKey || swarm === undefined || swarm.context.ledger.state.keys.size > 0) return undefined;
    const { firstKey } = this.#options;
    const { stored, answer } = createKey({ name: 'first', role: 'commander' });
    await swarm.keep(stored.name, firstKey ?? stored);
    return firstKey === undefined ? answer.key : undefined;
  }

  /**
   * Records who began the run, unless it is recorded already. The same request arrives again if the server was killed
   * while it opened the run.
   */
  async auditBegin(): Promise<void> {
    const [{ begun }, swarm] = [this.#options, this.#swarm];
    if (begun === undefined || swarm === undefined) return;
    const { at, by, run } = begun;
    const entry = { at, by, what: 'run_begun', detail: { run } } as const;
    const { audit } = swarm.context.ledger.state;
    if (!audit.some(({ what, at: known }) => what === entry.what && known === at)) await swarm.audit(entry);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#isOver = true;
    this.#wake();
    const swarm = this.#swarm; // `close` resets the field
    swarm?.close();
    await this.#settle(swarm);
  }

  /**
   * Opens a failed model again from its newest checkpoint. If it fails too often, an operator must repair the cause.
   */
  async #openAgain(error: unknown, isEngines = false): Promise<void> {
    const swarm = this.#swarm;
    const { onFatal } = this.#options;
    if (onFatal !== undefined) return onFatal(error);
    if (swarm === undefined || this.#leaving === swarm) return; // both the engine and the trainer report a failure
    if (swarm.hasStopped) {
      if (isEngines) noteDeadEngine(swarm.context, error);
      return;
    }
    const problem = this.#failures.note(error, systemHost.now());
    if (problem === undefined) {
      this.#options.onNotice?.(
        `The model failed, and is opened again from its newest checkpoint: ${toErrorMessage(error)}`,
        'warn',
      );
      return this.#leave(swarm);
    }
    swarm.stopTraining(problem);
    if (isEngines) noteDeadEngine(swarm.context, error);
    this.#options.onNotice?.(`Training has stopped. Ends are still accepted. ${problem}`, 'error');
  }

  /** Starts training again after it stopped, because an operator asked for it. */
  async #openOnOrder(): Promise<void> {
    this.#failures.forget();
    if (this.#swarm !== undefined) await this.#leave(this.#swarm);
  }

  /** Closes the swarm after all pending receipts are sent. Store and model are released and opened again. */
  async #leave(swarm: Swarm): Promise<void> {
    this.#leaving = swarm;
    await swarm.written();
    if (this.#swarm === swarm) swarm.close();
  }

  /** Ends the server: it opens no other swarm after this. */
  #giveUp(error: StoreError): void {
    this.#taken = error;
    this.#isOver = true;
    this.#wake();
    this.#options.onFatal?.(error);
    this.#tellTaken(error);
  }

  /** Handles a failed commit like a crash: closes the swarm, and reads the store again before anything else happens. */
  async #goOn(error: StoreError): Promise<void> {
    const swarm = this.#swarm;
    this.#swarm = undefined;
    if (this.#isClosed) return;
    const { onFatal } = this.#options;
    if (error.code === 'not_owner' || onFatal !== undefined) this.#taken = error;
    if (onFatal === undefined && error.code !== 'closed') this.#options.onNotice?.(error.message, 'error');
    await this.#settle(swarm);
    if (this.#taken !== undefined) return this.#giveUp(this.#taken);
    for (let delayMs = 100; !this.#isClosed; delayMs = Math.min(2 * delayMs, 10_000)) {
      try {
        return await this.open();
      } catch (failure) {
        this.#options.onNotice?.(toErrorMessage(failure), 'error');
        if (failure instanceof StoreError && failure.code === 'full') this.#full = failure;
        if (failure instanceof StoreError && ['owned', 'not_owner'].includes(failure.code))
          return this.#giveUp(notOwner());
        await new Promise((resolve) => systemHost.after(delayMs, () => resolve(undefined)));
      }
    }
  }
}

/**
 * The time that a commit waits for more records. It is far shorter than a model call, and long enough for many
 * simultaneous requests to share one commit.
 */
const gatherMs = 4;

/**
 * Waits before a commit. The timer keeps the process alive, because a server that is being opened may wait only for a
 * commit.
 */
const gather = (): Promise<void> => setTimeout(gatherMs);
