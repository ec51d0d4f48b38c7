import { deriveSeed } from '@agentjet/core';
import { retry, Worker, type SwarmTransport } from '@agentjet/swarm-client';
import type { GenerateCall } from '@agentjet/swarm-server/swarm';
import { WireError, type ClaimedEpisode, type EndRequest } from '@agentjet/swarm-wire';
import type { Audit } from './audit.js';
import { Life } from './life.js';
import type { Network } from './network.js';
import type { ServerProcess } from './server-process.js';
import type { World } from './world.js';

/** A program that runs agents for the swarm. It may be killed, and is then started again with the newest code. */
export class ClientProcess {
  readonly #options: ClientOptions;
  #life: Life;
  #stop = new AbortController();

  constructor(options: ClientOptions) {
    this.#options = options;
    this.#life = this.#start();
  }

  crash(): void {
    const { world } = this.#options;
    this.#life.kill();
    world.after(world.about(1200), () => {
      if (!this.#life.isAlive && !this.#stop.signal.aborted) this.#life = this.#start();
    });
  }

  stop(): void {
    this.#stop.abort();
  }

  #start(): Life {
    const { world, name, revision, audit } = this.#options;
    const life = new Life(world);
    const worker = new Worker({
      host: life.host,
      transport: this.#transport(life),
      client: name,
      revision: `r${revision()}`,
      shares: this.#options.can,
      purpose: 'any',
      parallel: 1,
      leaseSeconds: 3,
      waitSeconds: 0,
      heartbeatMs: 250,
      idleMs: 100,
      firstGapMs: 20,
      maxGapMs: 300,
      execute: (episode, signal) => this.#execute(life, episode, signal),
      isDone: () => false,
      signal: this.#stop.signal,
    });
    worker.run().catch((error: unknown) => {
      if (life.isAlive) audit.require(false, `client ${name} stopped: ${String(error)}`);
    });
    return life;
  }

  #transport(life: Life): SwarmTransport {
    const { network, name } = this.#options;
    return {
      claim: (request) => network.send(name, life, (swarm) => swarm.claim(request)),
      heartbeat: (request) => network.send(name, life, (swarm) => swarm.heartbeat(request)),
      abandon: (episodeId, request) => network.send(name, life, (swarm) => swarm.abandon(episodeId, request)),
      end: (episodeId, request) => this.#end(life, episodeId, request),
    };
  }

  /**
   * Runs an agent, which makes as many calls as its seed says and then returns a result. The audit records what the
   * agent learns.
   */
  async #execute(life: Life, episode: ClaimedEpisode, signal: AbortSignal): Promise<EndRequest> {
    const { world, audit, name, isJudged, can } = this.#options;
    audit.require(can.includes(episode.share), `${name} runs ${can.join()}, and got an episode of ${episode.share}`);
    const draw = deriveSeed(episode.seed, 'length') / 2 ** 32;
    const numCalls = Math.min(20, 1 + Math.floor(-Math.log(1 - draw) * 3));
    const isFailing = deriveSeed(episode.seed, 'failing') % 100 < 4;
    const answered = audit.answered.get(episode.episode_id) ?? new Set();
    audit.answered.set(episode.episode_id, answered);
    for (let index = 0; index < numCalls && !signal.aborted; index++) {
      await this.#call(life, episode.episode_id, { requestId: `${index}`, signal });
      if (!signal.aborted) answered.add(`${index}`);
      if (world.fault(0.02)) await life.wait(world.about(4000));
    }
    const isOutage = world.chance(0.02);
    const status = isFailing ? 'failed' : isOutage ? 'outage' : 'completed';
    const reward = status !== 'completed' || isJudged ? null : numCalls + Math.floor(world.random() * 3);
    return { client: name, status, reward, is_success: null, metadata: {}, log_metrics: {} };
  }

  async #call(life: Life, episodeId: string, { requestId, signal }: Call): Promise<void> {
    const { network, name } = this.#options;
    const request = (): Promise<unknown> => network.send(name, life, (swarm) => this.#ask(swarm, episodeId, requestId));
    await retry(life.host, request, { signal, firstGapMs: 20, maxGapMs: 300 });
  }

  #ask(swarm: NonNullable<ServerProcess['swarm']>, episodeId: string, requestId: string): Promise<unknown> {
    const { servers, audit, policies } = this.#options;
    const server = servers.find((each) => each.swarm === swarm);
    const policy = policies[Number(requestId) % policies.length] ?? policies[0] ?? '';
    const generate: GenerateCall = async (weights) => {
      audit.served({ ...weights, policy }, server?.trainers.get(policy)?.published?.hash);
      await server?.think();
      return { text: requestId };
    };
    return swarm.call(episodeId, requestId, generate, policy);
  }

  async #end(life: Life, episodeId: string, request: EndRequest) {
    const { world, network, name, audit } = this.#options;
    const { status, reward, is_success } = request;
    const body = JSON.stringify([status, status === 'completed' ? reward : null, is_success]);
    const send = (changed: EndRequest) => network.send(name, life, (swarm) => swarm.end(episodeId, changed));
    if (world.chance(0.1)) {
      network.send(name, life, (swarm) => this.#ask(swarm, episodeId, 'late')).catch(() => {});
    }
    const answer = send(request);
    try {
      const receipt = await answer;
      audit.receipts.set(episodeId, body);
      if (world.chance(0.1)) await this.#repeatEnd(life, () => send(request), episodeId);
      if (world.chance(0.05)) await this.#contradictEnd(life, () => send({ ...request, is_success: true }), episodeId);
      return receipt;
    } catch (error) {
      const told = audit.receipts.has(episodeId) && error instanceof WireError && error.status < 500;
      audit.require(!told, `a receipt, then ${String(error)} for the same end of ${episodeId}`);
      throw error;
    }
  }

  async #repeatEnd(life: Life, send: () => Promise<unknown>, episodeId: string): Promise<void> {
    const { world, audit } = this.#options;
    await life.wait(world.about(world.chance(0.3) ? 8000 : 500));
    await retry(life.host, send, { firstGapMs: 20, maxGapMs: 300 }).catch((error: unknown) => {
      audit.require(false, `a receipt, then ${String(error)} for the same end of ${episodeId}`);
    });
  }

  async #contradictEnd(life: Life, send: () => Promise<unknown>, episodeId: string): Promise<void> {
    const told = await retry(life.host, send, { firstGapMs: 20, maxGapMs: 300 }).then(
      () => 'accepted',
      (error: unknown) => (error instanceof WireError ? error.code : String(error)),
    );
    this.#options.audit.require(told === 'ended_differently', `another end of ${episodeId} was answered ${told}`);
  }
}

type Call = { readonly requestId: string; readonly signal: AbortSignal };

export type ClientOptions = {
  readonly world: World;
  readonly network: Network;
  readonly audit: Audit;
  readonly servers: readonly ServerProcess[];
  readonly name: string;
  readonly revision: () => number;
  readonly isJudged: boolean;
  /** The models that its agents ask, one after the other. */
  readonly policies: readonly string[];
  /** The shares that it runs. */
  readonly can: readonly string[];
};
