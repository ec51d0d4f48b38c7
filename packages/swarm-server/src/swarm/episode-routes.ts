import {
  currentTable,
  named,
  shareOf,
  taskKey,
  type LedgerEpisode,
  type LedgerGroup,
  type OpenPlace,
} from '@agentjet/ledger';
import { placeSeed } from '@agentjet/core';
import type {
  AbandonAnswer,
  AbandonRequest,
  ClaimAnswer,
  ClaimedEpisode,
  ClaimRequest,
  EndRequest,
  HeartbeatAnswer,
  HeartbeatRequest,
  Receipt,
  WireTask,
  WireError,
} from '@agentjet/swarm-wire';
import type { ModelPort } from '../model/model-port.js';
import {
  claimIdOf,
  endedDifferently,
  goneError,
  isReplayMismatch,
  requireClient,
  requireKeyShares,
  randomName,
  receiptOf,
  toNewEnd,
  type CallOf,
  type ClaimKey,
  type EpisodeAccess,
  type EpisodeParts,
} from './episode-answers.js';
import { EndRoom, requireRoom } from './end-room.js';
import { EpisodeDeadlines } from './episode-deadlines.js';
import { isEvaluationPending, takeOverEvaluation } from './evaluate.js';
import { findPlace } from './find-place.js';
import { isAtWork } from './finish-work.js';
import { greetClient } from './greet-client.js';
import { acceptHeartbeat } from './heartbeats.js';
import { knownClaims } from './known-claims.js';
import { mayEverDraw, requireShares } from './share-watch.js';
import type { GenerateCall } from './swarm-options.js';
import { isRunDone } from './run-done.js';
import { hasPolicies, isComplete, type SwarmContext } from './swarm-context.js';

/**
 * The requests of workers. Each answer waits until its records are stored. For claims and calls, a commit is enough.
 * All other records are also synced to disk.
 */
export class EpisodeRoutes {
  readonly #context: SwarmContext;
  readonly #access: (episodeId: string) => EpisodeAccess;
  readonly #model: ModelPort | undefined;
  readonly #calls = new Map<string, Promise<unknown>>();
  readonly #deadlines: EpisodeDeadlines;
  readonly #room: EndRoom;
  /**
   * Episodes that got a refusal from a stopped policy. If such an episode fails, this counts as an outage, not as a
   * failure of its agent.
   */
  readonly #refused = new Set<string>();

  constructor(context: SwarmContext, { access, model }: EpisodeParts) {
    this.#context = context;
    this.#access = access;
    this.#model = model;
    const { ledger, settings } = context;
    this.#room = new EndRoom(context.store);
    this.#deadlines = new EpisodeDeadlines(ledger.clock, settings.episodeTimeoutMs);
    for (const { episodeId } of ledger.running()) this.#deadlines.begin(episodeId);
  }

  /** Ends episodes that have run for too long, as failures of their agents. */
  endLate(): void {
    const { ledger } = this.#context;
    const error = 'The episode ran for longer than rollout.episode_timeout. Make it faster, or raise the limit.';
    for (const episodeId of this.#deadlines.over()) {
      const episode = ledger.state.episodes.get(episodeId);
      if (episode?.state !== 'running') continue;
      const { client } = episode;
      const request = {
        client,
        status: this.#refused.has(episodeId) ? ('outage' as const) : ('failed' as const),
        reward: null,
        is_success: null,
        metadata: {},
        log_metrics: {},
      };
      this.#accept(episode, { ...request, error, error_code: 'timeout' }, JSON.stringify(['failed', null, null])).catch(
        () => {},
      ); // the episode was dropped
    }
  }

  async remember(episodeId: string, content: unknown): Promise<void> {
    const { ledger, writer } = this.#context;
    if (ledger.state.episodes.get(episodeId)?.state !== 'running') throw this.#goneError(episodeId);
    requireRoom(this.#context.store, 'no new memos');
    ledger.remember(episodeId, content);
    await writer.committed();
  }

  async claim(request: ClaimRequest, key?: ClaimKey): Promise<ClaimAnswer> {
    requireShares(this.#context, request.can);
    requireKeyShares(request.can, key);
    greetClient(this.#context, request, key);
    return this.#context.lives.whileClaiming(request, () => this.#waitForPlace(request, key));
  }

  async #waitForPlace(request: ClaimRequest, key?: ClaimKey): Promise<ClaimAnswer> {
    const { host, changes } = this.#context;
    const untilMs = host.now() + request.wait_seconds * 1000;
    for (;;) {
      key?.requireStillValid?.();
      const answer = await this.#claimNow(request, key);
      const leftMs = untilMs - host.now();
      const isLast = ['no_task', 'stopped', 'complete'].includes(answer.reason ?? '');
      if (answer.episodes.length > 0 || isLast || leftMs <= 0) return answer;
      await changes.next(leftMs);
    }
  }

  heartbeat(request: HeartbeatRequest, key?: ClaimKey): Promise<HeartbeatAnswer> {
    return acceptHeartbeat(this.#context, request, key);
  }

  async end(episodeId: string, request: EndRequest, key?: ClaimKey): Promise<Receipt> {
    const { ledger, writer } = this.#context;
    const { status, rewards } = request;
    const own = hasPolicies(this.#context) && rewards !== undefined ? [rewards] : [];
    const said = [status, status === 'completed' ? request.reward : null, request.is_success, ...own];
    const bodyHash = JSON.stringify(said);
    const episode = ledger.state.episodes.get(episodeId);
    if (episode === undefined) {
      const old = ledger.state.finished.episode(episodeId);
      if (old?.bodyHash === undefined) throw this.#goneError(episodeId);
      if (old.bodyHash !== bodyHash) throw endedDifferently(episodeId, old.bodyHash);
      return receiptOf(ledger.state, episodeId, status);
    }
    requireClient(episode, request.client, key);
    if (episode.end === undefined && episode.state === 'dropped') {
      await writer.synced();
      throw this.#goneError(episodeId);
    }
    this.#context.lives.noteEnd(episode.client, this.#context.weights.version);
    if (episode.end === undefined) await this.#accept(episode, request, bodyHash);
    await writer.synced();
    const accepted = episode.end?.bodyHash;
    if (accepted !== bodyHash) throw endedDifferently(episodeId, accepted ?? '');
    return receiptOf(ledger.state, episodeId, status);
  }

  async abandon(episodeId: string, request: AbandonRequest, key?: ClaimKey): Promise<AbandonAnswer> {
    const { ledger, writer } = this.#context;
    const episode = ledger.state.episodes.get(episodeId);
    if (episode === undefined) throw this.#goneError(episodeId);
    requireClient(episode, request.client, key);
    if (episode.state === 'running') ledger.drop(episodeId, 'abandoned');
    await writer.committed();
    return {
      episode_id: episodeId,
      state: episode.state,
      ...(episode.reason !== undefined && { reason: episode.reason }),
    };
  }

  requireRunning(episodeId: string): void {
    if (this.#context.ledger.state.episodes.get(episodeId)?.state !== 'running') throw this.#goneError(episodeId);
  }

  /** Answers a model call with the weights of `policy`, and measures it. Default: the first policy. */
  async call(episodeId: string, requestId: string, generate: GenerateCall, policy?: string): Promise<unknown> {
    const { ledger, host, meter } = this.#context;
    const sinceMs = host.now();
    const content = await this.#call(episodeId, { requestId, policy }, generate);
    const group = ledger.state.groups.get(ledger.state.episodes.get(episodeId)?.groupId ?? '');
    const of = { policy: policy ?? this.#context.policy, share: shareOf(group ?? {}) };
    meter?.onCall(of, (host.now() - sinceMs) / 1000);
    return content;
  }

  async #call(episodeId: string, { requestId, policy }: CallOf, generate: GenerateCall): Promise<unknown> {
    const { ledger, writer } = this.#context;
    const episode = ledger.state.episodes.get(episodeId);
    if (episode === undefined) throw this.#goneError(episodeId);
    const name = `${episodeId} ${requestId}`;
    const isRecorded = episode.calls.some((call) => call.requestId === requestId);
    const known =
      this.#calls.get(name) ?? (isRecorded ? Promise.resolve(this.#recordedAnswer(episodeId, requestId)) : undefined);
    if (known === undefined && episode.state !== 'running') throw this.#goneError(episodeId);
    const answer = known ?? this.#generate(episode, { requestId, policy }, generate);
    if (known === undefined) {
      this.#calls.set(name, answer);
      const forget = (): void => void this.#calls.delete(name);
      answer.then(forget, forget);
    }
    const content = await answer;
    if (this.#context.settings.syncsCalls === true) await writer.synced();
    await writer.committed();
    return content;
  }

  async #generate(
    episode: Readonly<LedgerEpisode>,
    { requestId, policy: name = this.#context.policy }: CallOf,
    generate: GenerateCall,
  ): Promise<unknown> {
    const context = this.#context.policies.find(({ policy }) => policy === name);
    if (context === undefined) throw new TypeError(`There is no policy "${name}".`);
    const { ledger, store, gate, weights, line } = context;
    const { episodeId } = episode;
    requireRoom(store, 'no new calls');
    const release = ledger.holdLease(episodeId);
    try {
      const leave = await gate.enter().catch((error: unknown) => {
        this.#refused.add(episodeId);
        throw error;
      });
      try {
        this.requireRunning(episodeId); // the episode may have ended while the call waited
        const { version } = weights;
        const { incarnation } = line;
        const content = await generate({ version, incarnation }).catch((error: unknown) => {
          if (isReplayMismatch(error) && episode.state === 'running') ledger.drop(episodeId, 'replay_mismatch');
          throw isReplayMismatch(error) ? this.#goneError(episodeId) : error;
        });
        if (episode.state !== 'running') throw this.#goneError(episodeId);
        ledger.recordCall(episodeId, { requestId, version, incarnation, ...named(name), content });
        return content;
      } finally {
        leave();
      }
    } finally {
      release();
    }
  }

  /** Returns the recorded answer to a call, however old the call is. */
  #recordedAnswer(episodeId: string, requestId: string): unknown {
    const { records } = this.#context;
    return records.calls(episodeId).find((record) => record.requestId === requestId)?.content;
  }

  async #claimNow(request: ClaimRequest, key: ClaimKey | undefined): Promise<ClaimAnswer> {
    const { writer } = this.#context;
    const known = knownClaims(this.#context, request, key);
    const episodes = known ?? this.#takePlaces(request, key);
    if (typeof episodes === 'string') return { episodes: [], reason: episodes, retry_after_ms: 200 };
    await writer.committed();
    return { episodes: episodes.map((episodeId) => this.#describe(episodeId, request.lease_seconds)) };
  }

  #takePlaces(request: ClaimRequest, key?: ClaimKey): readonly string[] | NonNullable<ClaimAnswer['reason']> {
    const { ledger, lives, store, policies, settings } = this.#context;
    const { operation } = ledger.state;
    if (lives.hasLeft(request.client, request.life)) return 'no_open_place';
    if (this.#context.intake.isClosing) return 'draining';
    if (operation.isStopped) return 'stopped';
    if (operation.isPaused) return 'paused';
    if (policies.some(({ weights }) => weights.version < 0)) return 'starting';
    if (policies.every(({ health }) => health.problem !== undefined && health.broken !== undefined)) return 'starting';
    if (!store.hasRoom()) return 'store_full';
    lives.noteRevision(request.client, request.revision);
    this.#noteNewest(request);
    const taken: string[] = [];
    const capacity = Math.min(settings.capacity, this.#capacityOf(key));
    for (let index = 0; index < request.count && ledger.numRunning < capacity; index++) {
      const place = findPlace(this.#context, request);
      if (place === undefined) break;
      taken.push(this.#take(place, request, { claimId: claimIdOf(request.claim_id, index), keyName: key?.name }));
    }
    if (taken.length > 0) return taken;
    if (ledger.numRunning >= capacity) return 'capacity';
    if (policies.every(isComplete) && isRunDone(this.#context)) return 'complete';
    if (operation.isDraining) return 'draining';
    if (this.#mayOpenPlaces()) return 'no_open_place';
    return mayEverDraw(this.#context, request.can) ? 'no_open_place' : 'no_task';
  }

  /**
   * Notes which revision of the code an evaluation measures. A new revision takes over the open evaluation. An old
   * revision takes it over if no client runs the newest one any more.
   */
  #noteNewest({ can, revision }: ClaimRequest): void {
    const { revisions, lives } = this.#context;
    const taken = can.filter((share) => {
      const newest = revisions.newestOf(share);
      return newest !== revision && (newest === undefined || !revisions.has(share, revision) || !lives.mayRun(newest));
    });
    for (const share of taken) revisions.promote(share, revision);
    if (taken.length > 0) takeOverEvaluation(this.#context, taken);
  }

  /**
   * Whether a place may become free later, because a running episode may be lost or an evaluation may follow a step.
   */
  #mayOpenPlaces(): boolean {
    const { ledger, policies } = this.#context;
    return ledger.numRunning > 0 || isEvaluationPending(this.#context) || policies.some(isAtWork);
  }

  /**
   * Returns how many episodes may run in total after a claim with this key, so that the key does not exceed its limit.
   */
  #capacityOf(key: ClaimKey | undefined): number {
    if (key?.maxEpisodes === undefined) return Infinity;
    const { ledger } = this.#context;
    return ledger.numRunning + Math.max(0, key.maxEpisodes - ledger.numRunningOf(key.name));
  }

  #take(
    { groupId, place }: OpenPlace,
    { client, life, lease_seconds }: ClaimRequest,
    { claimId, keyName }: { readonly claimId: string; readonly keyName: string | undefined },
  ): string {
    const { ledger, host, tasks, lengths } = this.#context;
    const group = ledger.group(groupId);
    const taskOf = group.purpose === 'train' ? tasks.trainingTask : tasks.evaluationTask;
    const task = taskOf(group.draw, shareOf(group), group.table ?? 0);
    const episodeId = `e${randomName(host.random)}`;
    const seed = placeSeed(task?.seed ?? 0, { taskId: group.taskId, place });
    const leaseMs = lease_seconds * 1000;
    ledger.claim({ groupId, place }, { episodeId, claimId, client, life, seed, keyName, leaseMs });
    this.#deadlines.begin(episodeId);
    lengths.begin(episodeId);
    return episodeId;
  }

  #describe(episodeId: string, leaseSeconds: number): ClaimedEpisode {
    const { ledger } = this.#context;
    const { groupId, place, attempt, seed } = ledger.episode(episodeId);
    const group = ledger.group(groupId);
    const { purpose, taskId } = group;
    const { task, ...known } = this.#taskOf(group);
    const position = { group_id: groupId, place, attempt, seed, purpose, task_id: taskId, share: shareOf(group) };
    return {
      episode_id: episodeId,
      ...position,
      ...known,
      ...(task !== undefined && { task }),
      lease_seconds: leaseSeconds,
      ...this.#access(episodeId),
    };
  }

  /**
   * Returns the content of the group's task, unless the content stays at the client. If the table of the task was
   * replaced, also returns the hash of the version that the group has.
   */
  #taskOf(group: Readonly<LedgerGroup>): Pick<ClaimedEpisode, 'task_hash'> & { readonly task: WireTask | undefined } {
    const { purpose, taskId, table = 0 } = group;
    const { state } = this.#context.ledger;
    const of = { share: shareOf(group), ...(purpose === 'evaluation' && { split: purpose }) };
    const found = state.tasks.get(taskKey({ taskId, table, ...of }));
    const isReplaced = currentTable(state, of) !== undefined;
    return { task: found?.content as WireTask | undefined, ...(isReplaced && { task_hash: found?.hash ?? '' }) };
  }

  /** Seals the episode's trackers, and ends the episode in the same turn of the event loop. */
  async #accept(episode: Readonly<LedgerEpisode>, said: EndRequest, bodyHash: string): Promise<void> {
    const { episodeId } = episode;
    const isRefused = this.#refused.delete(episodeId);
    const request = isRefused && said.status === 'failed' ? { ...said, status: 'outage' as const } : said;
    const { ledger, writer, lengths } = this.#context;
    const release = this.#room.take(request, () => this.#model?.tokensOf(episodeId) ?? 0);
    try {
      const isLost = request.status === 'outage';
      const sealed = isLost ? undefined : this.#model?.seal(episodeId, request);
      const tokens = isLost ? this.#model?.tokensOf(episodeId) : undefined;
      const group = ledger.group(episode.groupId);
      const { task } = this.#taskOf(group);
      const parts = { bodyHash, sealed, group, episode, task, seconds: lengths.secondsOf(episodeId), tokens };
      ledger.end(episodeId, toNewEnd(request, parts));
    } catch (error) {
      if (!isReplayMismatch(error)) throw error;
      ledger.drop(episodeId, 'replay_mismatch');
      await writer.synced();
      throw this.#goneError(episodeId);
    } finally {
      if (release !== undefined) writer.committed().then(release, release);
      if (episode.state !== 'running') this.#model?.close(episodeId);
    }
  }

  #goneError(episodeId: string): WireError {
    return goneError(this.#context.ledger.state, episodeId);
  }
}
