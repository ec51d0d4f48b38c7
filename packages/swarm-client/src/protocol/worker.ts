import { setMaxListeners } from 'node:events';
import { rejectOnAbort, toErrorMessage, pause } from '@agentjet/core';
import {
  WireError,
  type AbandonAnswer,
  type AbandonRequest,
  type ClaimAnswer,
  type ClaimedEpisode,
  type ClaimRequest,
  type EndRequest,
  type HeartbeatAnswer,
  type HeartbeatRequest,
  type Receipt,
} from '@agentjet/swarm-wire';
import type { ClientHost } from '../host.js';
import { retry } from './retry.js';
import { SharedClaims } from './shared-claims.js';

/** The connection to a server. A request without an answer rejects with an error other than WireError. */
export type SwarmTransport = {
  readonly claim: (request: ClaimRequest) => Promise<ClaimAnswer>;
  readonly heartbeat: (request: HeartbeatRequest) => Promise<HeartbeatAnswer>;
  readonly end: (episodeId: string, request: EndRequest) => Promise<Receipt>;
  readonly abandon: (episodeId: string, request: AbandonRequest) => Promise<AbandonAnswer>;
};

/**
 * A client's side of the protocol. It claims episodes, keeps them alive, runs them, and repeats an end until it has the
 * receipt. After a restart of the server it continues by itself, because every request is repeated with the same ids.
 */
export class Worker {
  readonly #options: WorkerOptions;
  readonly #running = new Map<string, AbortController>();
  readonly #life: string;
  readonly #claims: SharedClaims;
  /** Aborts with the caller's signal. Episodes listen to this signal, so the caller's signal has only one listener. */
  readonly #stop = new AbortController();
  /** Why the server no longer accepts this client. */
  #lockedOut: WireError | undefined;
  #numClaims = 0;
  /** The number of consecutive outages. */
  #numOutages = 0;

  constructor(options: WorkerOptions) {
    this.#options = options;
    this.#life = `${Math.floor(options.host.random() * 2 ** 48).toString(36)}`;
    const { host, idleMs, isDone, gatherMs = 0 } = options;
    const { signal } = this.#stop;
    this.#claims = new SharedClaims({
      claim: (count) => this.#claim(count),
      isDone,
      rest: (answer) => pause(host, Math.max(answer?.retry_after_ms ?? 0, idleMs * (0.5 + host.random())), signal),
      gather: async () => (gatherMs > 0 ? pause(host, gatherMs, signal) : undefined),
      signal,
    });
  }

  /**
   * Runs episodes until the signal aborts, or until `isDone` says that there are no more. Either way, it then leaves:
   * running episodes are given back at once, and the client's name is free. Rejects if the server refuses the client as
   * such.
   */
  async run(): Promise<void> {
    const { parallel, signal } = this.#options;
    const heartbeats = new AbortController();
    const onAbort = (): void => {
      this.#stop.abort(signal.reason);
      void this.#leave();
    };
    setMaxListeners(0, this.#stop.signal);
    signal.addEventListener('abort', onAbort, { once: true });
    if (signal.aborted) onAbort();
    const beating = this.#sendHeartbeats(heartbeats.signal);
    const work = (): Promise<void> =>
      this.#work().catch((error: unknown) => {
        this.#stop.abort(error); // the other loops stop too
        throw error;
      });
    try {
      const ended = await Promise.allSettled(Array.from({ length: parallel }, work));
      const failed = ended.find((outcome) => outcome.status === 'rejected');
      if (failed !== undefined) throw failed.reason;
      if (this.#lockedOut !== undefined && !signal.aborted) throw this.#lockedOut;
    } finally {
      signal.removeEventListener('abort', onAbort);
      heartbeats.abort();
      await beating;
      await this.#leave();
    }
  }

  async #work(): Promise<void> {
    for (;;) {
      const episode = await this.#claims.next();
      if (episode === undefined) return;
      await this.#runEpisode(episode);
      await this.#rest();
    }
  }

  /**
   * Waits after an outage, longer after each consecutive one. A claim at once would probably fail too, and use up an
   * attempt of another episode.
   */
  async #rest(): Promise<void> {
    const { host, outageGapMs = 0 } = this.#options;
    if (outageGapMs === 0 || this.#numOutages === 0) return;
    await pause(host, Math.min(outageGapMs * 2 ** (this.#numOutages - 1), longestRestMs), this.#stop.signal);
  }

  async #claim(count: number): Promise<ClaimAnswer | undefined> {
    const { host, transport, client, revision, purpose, leaseSeconds, waitSeconds } = this.#options;
    const { signal } = this.#stop;
    const request: ClaimRequest = {
      claim_id: `${client}.${this.#life}.${this.#numClaims++}`,
      client,
      life: this.#life,
      can: [...(this.#options.shares ?? ['default'])],
      count,
      purpose,
      revision,
      lease_seconds: leaseSeconds,
      wait_seconds: waitSeconds,
    };
    try {
      return await retry(host, () => rejectOnAbort(transport.claim(request), signal), { ...this.#options, signal });
    } catch (error) {
      if (signal.aborted || isGone(error)) return undefined;
      throw error;
    }
  }

  async #runEpisode(episode: ClaimedEpisode): Promise<void> {
    const { execute, onEnd, onGone } = this.#options;
    const { signal } = this.#stop;
    const episodeId = episode.episode_id;
    const controller = new AbortController();
    const onAbort = (): void => controller.abort(signal.reason);
    signal.addEventListener('abort', onAbort, { once: true });
    this.#running.set(episodeId, controller);
    try {
      const end = await execute(episode, controller.signal);
      if (controller.signal.aborted) return; // the episode is over or was given back
      this.#numOutages = end.status === 'outage' ? this.#numOutages + 1 : 0;
      const receipt = await this.#end(episodeId, end);
      onEnd?.(receipt, end);
    } catch (error) {
      if (!controller.signal.aborted && !isGone(error)) throw error;
      if (!signal.aborted) onGone?.(episodeId, toErrorMessage(isGone(error) ? error : controller.signal.reason));
    } finally {
      this.#running.delete(episodeId);
      signal.removeEventListener('abort', onAbort);
    }
  }

  /**
   * Sends an end until the receipt arrives. If the server cannot accept the end, for example because the reward is out
   * of bounds, the episode counts as failed.
   */
  async #end(episodeId: string, end: EndRequest): Promise<Receipt> {
    const { host, transport, client, onNotice } = this.#options;
    const { signal } = this.#stop;
    const send = (request: EndRequest): Promise<Receipt> =>
      retry(host, () => transport.end(episodeId, { ...request, client }), { ...this.#options, signal });
    try {
      return await send(end);
    } catch (error) {
      if (!(error instanceof WireError) || ![400, 413, 422].includes(error.status)) throw error;
      onNotice?.(`The end of episode ${episodeId} was refused, so it counts as failed: ${error.message}`);
      return send(toFailedEnd(error.message, client));
    }
  }

  async #leave(): Promise<void> {
    const { host, transport, client } = this.#options;
    const left = new AbortController();
    const leaving = transport.heartbeat({ client, life: this.#life, episodes: [], leaving: true }).catch(() => {});
    await Promise.race([leaving, pause(host, longestLeaveMs, left.signal)]);
    left.abort();
  }

  async #sendHeartbeats(signal: AbortSignal): Promise<void> {
    const { host, transport, client, heartbeatMs } = this.#options;
    while (!signal.aborted) {
      await pause(host, heartbeatMs, signal);
      if (signal.aborted) return;
      const episodes = [...this.#running.keys()];
      const answer = await transport
        .heartbeat({ client, life: this.#life, episodes, leaving: false, ...asks(this.#options.asksAfter?.()) })
        .catch((error: unknown) => this.#stopIfLockedOut(error));
      for (const { episode_id, reason } of answer?.gone ?? []) {
        this.#running.get(episode_id)?.abort(new WireError('gone', `The episode is over: ${reason}.`));
      }
    }
  }

  /**
   * Stops the client if its key was deleted or has expired, because its episodes are then over on the server. After any
   * other error, the next heartbeat may be answered.
   */
  #stopIfLockedOut(error: unknown): undefined {
    if (!(error instanceof WireError) || error.status !== 401) return;
    this.#lockedOut ??= error;
    this.#stop.abort(error);
  }
}

/** Options of a worker, which claims episodes, runs them and reports them. */
export type WorkerOptions = {
  readonly host: ClientHost;
  readonly transport: SwarmTransport;
  /** A name that no other program uses at the same time. */
  readonly client: string;
  readonly revision: string;
  /** The shares that this client runs. Default: `default`. */
  readonly shares?: readonly string[] | undefined;
  /** The version after which the client asks for a step. Undefined if it does not ask. */
  readonly asksAfter?: () => number | undefined;
  readonly purpose: ClaimRequest['purpose'];
  readonly parallel: number;
  readonly leaseSeconds: number;
  readonly waitSeconds: number;
  readonly heartbeatMs: number;
  readonly idleMs: number;
  /** How long an idle slot waits for others that could share its claim. Default: 0. */
  readonly gatherMs?: number;
  readonly firstGapMs: number;
  readonly maxGapMs: number;
  /** Runs one episode. The signal aborts if the episode is over on the server or the client stops. */
  readonly execute: (episode: ClaimedEpisode, signal: AbortSignal) => Promise<EndRequest>;
  readonly isDone: (answer: ClaimAnswer) => boolean;
  readonly onEnd?: (receipt: Receipt, end: EndRequest) => void;
  /** Called when an episode ended on the server before it ended here. */
  readonly onGone?: (episodeId: string, reason: string) => void;
  readonly onNotice?: (message: string) => void;
  /** Called before a request is repeated. */
  readonly onRetry?: (error: unknown, waitMs: number) => void;
  /** How long to wait after an outage before the next claim, doubled with each consecutive one. Default: no wait. */
  readonly outageGapMs?: number;
  readonly signal: AbortSignal;
};

const longestRestMs = 60_000;
/** How long a leaving client waits for the server. A server that is away notices later, when the leases expire. */
const longestLeaveMs = 3000;

function toFailedEnd(error: string, client: string): EndRequest {
  return { client, status: 'failed', reward: null, is_success: null, metadata: {}, log_metrics: {}, error };
}

const asks = (after: number | undefined) => (after === undefined ? {} : { asks_after: after });

const isGone = (error: unknown): boolean => error instanceof WireError && error.code === 'gone';
