import { setMaxListeners } from 'node:events';
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
import { pause, retry } from './retry.js';

/** How requests reach a server. A request that gets no answer rejects with anything but a WireError. */
export type SwarmTransport = {
  readonly claim: (request: ClaimRequest) => Promise<ClaimAnswer>;
  readonly heartbeat: (request: HeartbeatRequest) => Promise<HeartbeatAnswer>;
  readonly end: (episodeId: string, request: EndRequest) => Promise<Receipt>;
  readonly abandon: (episodeId: string, request: AbandonRequest) => Promise<AbandonAnswer>;
};

/**
 * A client's side of the protocol: claims episodes, keeps them alive, runs them, and repeats an end until it has the
 * receipt. It goes on after a restart of the server by itself, because every request is repeated with the same ids.
 */
export class Worker {
  readonly #options: WorkerOptions;
  readonly #running = new Map<string, AbortController>();
  readonly #life: string;
  /** Follows the caller's signal, which then has one listener however many episodes run. */
  readonly #stop = new AbortController();
  #numClaims = 0;

  constructor(options: WorkerOptions) {
    this.#options = options;
    this.#life = `${Math.floor(options.host.random() * 2 ** 48).toString(36)}`;
  }

  /** Runs episodes until the signal is aborted, or until `isDone` says that there are no more. */
  async run(): Promise<void> {
    const { parallel, signal } = this.#options;
    const heartbeats = new AbortController();
    const onAbort = (): void => this.#stop.abort(signal.reason);
    setMaxListeners(0, this.#stop.signal);
    signal.addEventListener('abort', onAbort, { once: true });
    if (signal.aborted) onAbort();
    const beating = this.#sendHeartbeats(heartbeats.signal);
    try {
      await Promise.all(Array.from({ length: parallel }, () => this.#work()));
    } finally {
      signal.removeEventListener('abort', onAbort);
      heartbeats.abort();
      await beating;
    }
  }

  async #work(): Promise<void> {
    const { host, isDone, idleMs } = this.#options;
    const { signal } = this.#stop;
    while (!signal.aborted) {
      const answer = await this.#claim();
      const [episode] = answer?.episodes ?? [];
      if (episode !== undefined) await this.#runEpisode(episode);
      else if (answer !== undefined && isDone(answer)) return;
      else await pause(host, Math.max(answer?.retry_after_ms ?? 0, idleMs * (0.5 + host.random())), signal);
    }
  }

  async #claim(): Promise<ClaimAnswer | undefined> {
    const { host, transport, client, revision, purpose, leaseSeconds, waitSeconds } = this.#options;
    const { signal } = this.#stop;
    const request: ClaimRequest = {
      claim_id: `${client}.${this.#life}.${this.#numClaims++}`,
      client,
      life: this.#life,
      can: ['default'],
      count: 1,
      purpose,
      revision,
      lease_seconds: leaseSeconds,
      wait_seconds: waitSeconds,
    };
    try {
      return await retry(host, () => transport.claim(request), { ...this.#options, signal });
    } catch (error) {
      if (signal.aborted || isGone(error)) return undefined;
      throw error;
    }
  }

  async #runEpisode(episode: ClaimedEpisode): Promise<void> {
    const { host, transport, client, execute, onEnd } = this.#options;
    const { signal } = this.#stop;
    const episodeId = episode.episode_id;
    const controller = new AbortController();
    const onAbort = (): void => controller.abort(signal.reason);
    signal.addEventListener('abort', onAbort, { once: true });
    this.#running.set(episodeId, controller);
    try {
      const end = await execute(episode, controller.signal);
      if (signal.aborted) {
        await transport.abandon(episodeId, { client, reason: 'The client is stopping.' }).catch(() => {});
      } else if (!controller.signal.aborted) {
        const receipt = await retry(host, () => transport.end(episodeId, { ...end, client }), {
          ...this.#options,
          signal,
        });
        onEnd?.(receipt);
      }
    } catch (error) {
      if (!controller.signal.aborted && !isGone(error)) throw error;
    } finally {
      this.#running.delete(episodeId);
      signal.removeEventListener('abort', onAbort);
    }
  }

  async #sendHeartbeats(signal: AbortSignal): Promise<void> {
    const { host, transport, client, heartbeatMs } = this.#options;
    while (!signal.aborted) {
      await pause(host, heartbeatMs, signal);
      if (signal.aborted) return;
      const episodes = [...this.#running.keys()];
      const answer = await transport.heartbeat({ client, life: this.#life, episodes }).catch(() => undefined);
      for (const { episode_id, reason } of answer?.gone ?? []) {
        this.#running.get(episode_id)?.abort(new WireError('gone', `The episode is over: ${reason}.`));
      }
    }
  }
}

export type WorkerOptions = {
  readonly host: ClientHost;
  readonly transport: SwarmTransport;
  /** A name that no other program uses at the same time. */
  readonly client: string;
  readonly revision: string;
  readonly purpose: ClaimRequest['purpose'];
  readonly parallel: number;
  readonly leaseSeconds: number;
  readonly waitSeconds: number;
  readonly heartbeatMs: number;
  readonly idleMs: number;
  readonly firstGapMs: number;
  readonly maxGapMs: number;
  /** Runs one episode. The signal is aborted if it is over on the server, or if the client stops. */
  readonly execute: (episode: ClaimedEpisode, signal: AbortSignal) => Promise<EndRequest>;
  readonly isDone: (answer: ClaimAnswer) => boolean;
  readonly onEnd?: (receipt: Receipt) => void;
  readonly signal: AbortSignal;
};

const isGone = (error: unknown): boolean => error instanceof WireError && error.code === 'gone';
