import {
  defaultPolicy,
  Ledger,
  recover,
  settleFinished,
  StoreError,
  StoreWriter,
  type AuditRecord,
  type StoreEntry,
  RecordIndex,
  type RunOrder,
} from '@agentjet/ledger';
import {
  WireError,
  wireVersion,
  type AbandonAnswer,
  type AbandonRequest,
  type ClaimAnswer,
  type ClaimRequest,
  type ClientsAnswer,
  type ConfigAnswer,
  type ConfigRequest,
  type EndRequest,
  type EpisodeAnswer,
  type GroupAnswer,
  type GroupsAnswer,
  type HeartbeatAnswer,
  type HeartbeatRequest,
  type Operation,
  type Receipt,
  type RewardsRequest,
  type ServerAnswer,
  type SharesRequest,
  type TasksAnswer,
  type TasksRequest,
} from '@agentjet/swarm-wire';
import { AttemptLengths } from './attempt-lengths.js';
import { Changes } from './changes.js';
import { ClientLives } from './client-lives.js';
import { listClients } from './list-clients.js';
import type { ClaimKey, EpisodeAccess, EpisodesQuery } from './episode-answers.js';
import { findEpisode, listEpisodes } from './episode-queries.js';
import { EpisodeRoutes } from './episode-routes.js';
import { OperatorRoutes, type Asked, type Page } from './operator-routes.js';
import { Revisions } from './revisions.js';
import { StragglerNotice } from './straggler-notice.js';
import type { GenerateCall, SwarmListener, SwarmOptions } from './swarm-options.js';
import {
  appendSynced,
  createContexts,
  hasPolicies,
  isDown,
  requireTrainer,
  type SwarmContext,
} from './swarm-context.js';
import { finishWork } from './finish-work.js';
import { breakPolicy, keepTraining, stopTraining } from './keep-training.js';
import { requireRewind, rewind } from './rewind.js';
import { lookAt } from './share-watch.js';
import { SwarmTasks } from './swarm-tasks.js';
import { toStoreError, toWireError } from './to-wire-error.js';
import { WaitWatch } from './wait-watch.js';

/**
 * The server without HTTP: the logic of each route, the timers, and the trainer. Its state is computed from its store.
 * If the store fails, every waiting request gets an answer and this object cannot be used any more. Open another one.
 */
export class Swarm {
  readonly #context: SwarmContext;
  readonly #episodes: EpisodeRoutes;
  readonly #operator: OperatorRoutes;
  readonly #options: SwarmOptions;
  readonly #waiting = new Set<(error: WireError) => void>();
  readonly #listeners = new Set<SwarmListener>();
  #end: WireError | undefined;
  #idleShares = '';
  readonly #waits: WaitWatch;
  #training: Promise<void> = Promise.resolve();

  private constructor(context: SwarmContext, options: SwarmOptions) {
    this.#context = context;
    this.#options = options;
    this.#episodes = new EpisodeRoutes(context, { access: options.access ?? noAccess, model: options.model });
    this.#operator = new OperatorRoutes(context);
    this.#waits = new WaitWatch(context);
  }

  /** Resolves after the state is recovered from the store. The weights are opened afterwards. */
  static async open(options: SwarmOptions): Promise<Swarm> {
    const { host, store, settings } = options;
    const { model, records = new RecordIndex(store), gather } = options;
    const { state, nextSequence, conclusions } = await recover(store, records.note);
    let swarm: Swarm | undefined;
    let early: StoreError | undefined;
    const writer = new StoreWriter(store, {
      nextSequence,
      maxFileBytes: settings.maxFileBytes,
      maxFileEntries: settings.maxFileEntries,
      gather,
      onCommit: (entries) => {
        if (swarm !== undefined) swarm.#tell(entries);
        for (const entry of entries) records.note(entry);
        settleFinished(state, entries);
        options.onCommit?.(entries);
      },
      onFailure: (error) => {
        if (swarm === undefined) early = error;
        else swarm.#stop(error);
      },
    });
    const changes = new Changes(host);
    let lengths: AttemptLengths | undefined;
    const ledger = new Ledger({
      rules: settings.rules,
      now: host.now,
      maxStepMs: 10 * settings.tickMs,
      state,
      onDrop: ({ episodeId }) => {
        lengths?.cut(episodeId, model?.tokensOf(episodeId) ?? 0);
        model?.close(episodeId);
      },
      journal: (records) => {
        writer.append(records);
        options.onRecords?.(records);
        for (const record of records) lengths?.note(record);
        if (records.some(({ kind }) => kind !== 'call' && kind !== 'claim' && kind !== 'memo')) changes.notify();
      },
    });
    ledger.clock.stop();
    const revisions = new Revisions(state.groups.values());
    const tasks = options.tasks ?? new SwarmTasks(state, settings);
    const lives = new ClientLives(() => ledger.clock.read(), settings.aliveMs);
    const flags = { intake: { isClosing: false }, evaluation: { isRunning: false, sinceMs: 0, beganMs: undefined } };
    const policies = options.policies ?? [{ name: defaultPolicy, trainer: requireTrainer(options.trainer), settings }];
    lengths = new AttemptLengths(ledger, policies);
    const watches = { changes, lives, lengths, stragglers: new StragglerNotice(options.onNotice), revisions, ...flags };
    const { name, sinceMs = host.now(), meter } = options;
    const notice: SwarmContext['notice'] = (message, level) => options.onNotice?.(message, level);
    const served = { notice, meter, served: { name, sinceMs } };
    const shared = { host, ledger, store, writer, records, tasks, ...served, ...watches };
    const context = createContexts(shared, policies);
    await requireRewind(context.policies, options.rewindTo);
    for (const { episodeId, state: found } of state.episodes.values()) {
      if (found === 'running') ledger.renew(episodeId, settings.leaseMs);
    }
    if (conclusions.length > 0) ledger.append(...conclusions);
    for (const each of context.policies) rewind(each, options.rewindTo);
    await writer.synced();
    if (early !== undefined) throw early;
    swarm = new Swarm(context, options);
    swarm.#start();
    return swarm;
  }

  claim = (request: ClaimRequest, key?: ClaimKey): Promise<ClaimAnswer> =>
    this.#answer(() => this.#episodes.claim(request, key));

  heartbeat = (request: HeartbeatRequest, key?: ClaimKey): Promise<HeartbeatAnswer> =>
    this.#answer(() => this.#episodes.heartbeat(request, key));

  end = (episodeId: string, request: EndRequest, key?: ClaimKey): Promise<Receipt> =>
    this.#answer(() => this.#episodes.end(episodeId, request, key));

  abandon = (episodeId: string, request: AbandonRequest, key?: ClaimKey): Promise<AbandonAnswer> =>
    this.#answer(() => this.#episodes.abandon(episodeId, request, key));

  /** Answers a model call of an episode, with the weights of a policy. A repeated request id gets the recorded answer. */
  call = (episodeId: string, requestId: string, generate: GenerateCall, policy?: string): Promise<unknown> =>
    this.#answer(() => this.#episodes.call(episodeId, requestId, generate, policy));

  /** Stores a value that later calls of the same episode can read. */
  remember = (episodeId: string, content: unknown): Promise<void> =>
    this.#answer(() => this.#episodes.remember(episodeId, content));

  /** Returns the groups that wait for rewards. With `all`, groups that have some rewards are included. */
  unscored = (all = false, shares?: readonly string[], page?: Page): Promise<GroupsAnswer> =>
    this.#answer(() => this.#operator.unscored(all, shares, page));
  score = (groupId: string, request: RewardsRequest): Promise<void> =>
    this.#answer(() => this.#operator.score(groupId, request));

  /** `asked` is recorded in the audit in the same commit. */
  configure = (request: ConfigRequest, ifMatch: number, asked?: Asked): Promise<ConfigAnswer> =>
    this.#answer(() => this.#operator.configure(request, ifMatch, asked));

  /**
   * Changes how each batch is divided among the shares. `requestId` identifies the request, so that a late copy of it
   * changes nothing.
   */
  share = (parts: SharesRequest, requestId?: string, asked?: Asked): Promise<ConfigAnswer> =>
    this.#answer(() => this.#operator.share(parts, requestId, asked));

  /** Drops the groups in flight of all other revisions. Their tasks are drawn again. */
  supersede = (revision: string): Promise<void> => this.#answer(() => this.#operator.supersede(revision));

  operate = async (operation: RunOrder, requestId: string, asked?: Asked): Promise<void> => {
    const isNew = !this.#context.ledger.state.operationIds.has(requestId);
    await this.#answer(() => this.#operator.operate(operation, requestId, asked));
    if (operation === 'start' && isNew && this.hasStopped) this.#options.onWanted?.();
  };

  /** Stops training until an operator starts it. Ends are still accepted. Call it only for a swarm with one policy. */
  stopTraining(problem: string): void {
    stopTraining(this.#context, problem);
  }

  get hasStopped(): boolean {
    return !hasPolicies(this.#context) && this.#context.health.problem !== undefined;
  }

  /** Requests a checkpoint. It is saved as soon as no step is being made. */
  checkpoint = (requestId: string, asked: Asked): Promise<void> =>
    this.#answer(() => this.#operator.checkpoint(requestId, asked));

  /** Returns the progress of an operation, or undefined if no operation has this id. */
  operation = (requestId: string) =>
    this.#answer(async () => {
      const found = this.#operator.operation(requestId);
      if (found !== undefined) await this.#context.writer.synced();
      return found;
    });

  /** Throws WireError `name_taken` if another operation has the id. */
  requireOrder = (requestId: string, operation: Operation): Promise<void> =>
    this.#answer(async () => this.#operator.requireOrder(requestId, operation));

  /** Drops the running episodes of a key, so that other clients can claim their places. */
  abandonKey = (keyName: string): Promise<void> => this.#answer(() => this.#operator.abandonKey(keyName));

  /** Drops episodes that were claimed with a key and are in no step yet. */
  dropOf = (keyName: string): Promise<number> => this.#answer(() => this.#operator.dropOf(keyName));

  /** Records an operator's order before it is carried out. */
  audit = (entry: Omit<AuditRecord, 'kind'>): Promise<void> =>
    this.#answer(() => appendSynced(this.#context, { kind: 'audit', ...entry }));

  /** Resolves when there is a newer change than the one with the number `after`, or after `waitMs` milliseconds. */
  changed = (after: number, waitMs: number): Promise<void> =>
    this.#answer(async () => {
      const { changes } = this.#context;
      if (changes.number === after && waitMs > 0) await changes.next(waitMs);
    });

  episodes = (query: EpisodesQuery) => this.#answer(() => listEpisodes(this.#context, query));

  addTasks = (request: TasksRequest, asked?: Asked): Promise<TasksAnswer> =>
    this.#answer(() => this.#operator.addTasks(request, asked));

  /** Stores a value under a name for the lifetime of the run. Null deletes it. */
  keep = (name: string, content: unknown): Promise<void> => this.#answer(() => this.#operator.keep(name, content));

  /** Returns an episode of any age. */
  episode = (episodeId: string): Promise<EpisodeAnswer> =>
    this.#answer(async () => findEpisode(this.#context, episodeId));

  clients = (): Promise<ClientsAnswer> => this.#answer(async () => listClients(this.#context));

  group = (groupId: string): Promise<GroupAnswer> => this.#answer(async () => this.#operator.group(groupId));

  /** Calls the listener with all later events, until this swarm ends. The returned function removes the listener. */
  listen(listener: SwarmListener): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  #tell(entries: readonly StoreEntry[]): void {
    for (const { onEntries } of this.#listeners) onEntries(entries);
  }

  /** Throws WireError `gone` unless the episode runs. */
  requireRunning(episodeId: string): void {
    if (this.#end !== undefined) throw this.#end;
    this.#episodes.requireRunning(episodeId);
  }

  /** The state of the server. */
  describe(): ServerAnswer {
    return { ...this.#operator.describe(), wire: wireVersion };
  }

  /** The reason why this swarm ended. Undefined while it works. */
  get ended(): WireError | undefined {
    return this.#end;
  }

  get context(): SwarmContext {
    return this.#context;
  }

  /** Resolves when the trainer has stopped. */
  async closed(): Promise<void> {
    await this.#training;
  }

  /** Resolves when all records so far are on disk, or when the store has failed. */
  async written(): Promise<void> {
    await this.#context.writer.synced().catch(() => undefined); // a failing store ends this swarm by itself
  }

  /** Ends this swarm without writing to the store. Changes that were not written are lost. */
  close(error = new StoreError('closed', 'The server is closing.')): void {
    this.#stop(error);
  }

  /**
   * Prepares the end of the process. Clients get no new episodes, and running episodes may end within `patienceMs`. The
   * server then makes the steps whose batches are full, and saves a checkpoint. The ledger does not record that the
   * server finishes, so the next process continues as before.
   */
  finish = (patienceMs: number): Promise<void> => this.#answer(() => finishWork(this.#context, patienceMs));

  #start(): void {
    this.#tick();
    const loops = this.#context.policies.map((context) =>
      keepTraining(context, {
        reopen: this.#options.policies?.find(({ name }) => name === context.policy)?.reopen,
        hasEnded: () => this.#end !== undefined,
        runDisk: this.#options.runDisk,
        onFailure: (error) => this.#options.onTrainerFailure?.(error),
        onNotice: (message, level) => this.#options.onNotice?.(message, level),
      }),
    );
    this.#training = Promise.all(loops).then(() => undefined);
  }

  /**
   * Reports that the engine of a policy is dead, so that the policy stops before its training fails. Returns false if
   * the whole server has to be reopened.
   */
  breakPolicy(policy: string, error: unknown): boolean {
    return breakPolicy(this.#context, policy, error);
  }

  #tick(): void {
    const { host, ledger, settings, policies } = this.#context;
    if (this.#end !== undefined) return;
    const up = policies.filter((each) => !isDown(each));
    if (up.length > 0 && up.every(({ gate }) => gate.isOpen)) ledger.clock.start();
    else ledger.clock.stop();
    ledger.expire();
    this.#episodes.endLate();
    this.#lendPlaces();
    this.#waits.look();
    for (const { onTick } of this.#listeners) onTick();
    host.after(settings.tickMs, () => this.#tick());
  }

  /**
   * Wakes waiting claims if the clients of a share have gone or come back. This writes no record, so nothing else would
   * wake them.
   */
  #lendPlaces(): void {
    const { policies, changes } = this.#context;
    const idle = policies.map((each) => [...(lookAt(each).idle ?? [])].join(' ')).join('\n');
    if (idle !== this.#idleShares) changes.notify();
    this.#idleShares = idle;
  }

  /** Runs a route. The caller gets an answer even if the store fails while the request waits. */
  #answer<Answer>(route: () => Promise<Answer>): Promise<Answer> {
    if (this.#end !== undefined) return Promise.reject(this.#end);
    return new Promise<Answer>((resolve, reject) => {
      this.#waiting.add(reject);
      const settle = (act: () => void): void => {
        this.#waiting.delete(reject);
        act();
      };
      route().then(
        (answer) => settle(() => resolve(answer)),
        (error: unknown) => void this.#refuse(error).then((refusal) => settle(() => reject(refusal))),
      );
    });
  }

  /**
   * Returns the error to answer with. A request is refused if a record is missing. Only the owner of the store can be
   * sure of that, so the ownership is checked first.
   */
  async #refuse(error: unknown): Promise<unknown> {
    if (error instanceof StoreError) return toWireError(error);
    if (!(error instanceof WireError && [404, 409, 410].includes(error.status))) return error;
    const isOwner = await this.#context.store.isOwner().catch(toStoreError);
    if (isOwner === true) return error;
    if (isOwner !== false) return toWireError(isOwner);
    this.#stop(new StoreError('not_owner', 'Another server has taken the store over.'));
    return this.#end ?? error;
  }

  #stop(error: StoreError): void {
    if (this.#end !== undefined) return;
    const end = toWireError(error);
    this.#end = end;
    for (const reject of this.#waiting) reject(end);
    this.#context.writer.close(error);
    this.#context.changes.close();
    for (const { onClose } of this.#listeners) onClose();
    this.#options.onEnd(error);
  }
}

const noAccess = (): EpisodeAccess => ({ base_url: '', model: '', key: '' });
