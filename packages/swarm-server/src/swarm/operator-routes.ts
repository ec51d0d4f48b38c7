import { isDeepStrictEqual } from 'node:util';
import {
  countTasks,
  hasShares,
  isSampled,
  LedgerError,
  nextParts,
  partsAt,
  shareOf,
  sharesKey,
  tasksOf,
  type ConfigRecord,
  type LedgerGroup,
  type Parts,
  type RunOrder,
} from '@agentjet/ledger';
import {
  WireError,
  type ConfigAnswer,
  type ConfigRequest,
  type ErrorCode,
  type GroupAnswer,
  type GroupsAnswer,
  type Operation,
  type OperationAnswer,
  type RewardsRequest,
  type ServerAnswer,
  type SharesRequest,
  type TasksAnswer,
  type TasksRequest,
} from '@agentjet/swarm-wire';
import { findCheckpointOrder, orderCheckpoint } from './checkpoint-orders.js';
import { randomName } from './episode-answers.js';
import { takeOverEvaluation } from './evaluate.js';
import { lookAt, shareNames } from './share-watch.js';
import { rulesOf } from './rules-of.js';
import { isAfter, takePage } from './take-page.js';
import { appendSynced, flyingOf, hasPolicies, type SwarmContext } from './swarm-context.js';
import { describePolicies, stateName } from './describe-policies.js';
import { describeProgress } from './describe-progress.js';
import { TaskLists } from './task-lists.js';

/** The requests of scorers and operators. */
export class OperatorRoutes {
  readonly #context: SwarmContext;

  readonly #lists: TaskLists;

  constructor(context: SwarmContext) {
    this.#context = context;
    this.#lists = new TaskLists(context);
  }

  addTasks = (request: TasksRequest, asked?: Asked): Promise<TasksAnswer> => this.#lists.add(request, asked);

  /** Returns a page of the sampled groups that have an episode without a reward, after the group `after`. */
  async unscored(
    all: boolean,
    shares?: readonly string[],
    { after, limit = Infinity }: Page = {},
  ): Promise<GroupsAnswer> {
    const { ledger } = this.#context;
    const { state, rules } = ledger;
    const isWaiting = (group: Readonly<LedgerGroup>): boolean =>
      isSampled(state, group, rules) && ledger.membersOf(group.groupId).some((episode) => episode.state === 'ended');
    const groups = this.#openGroups();
    const isPast = isAfter(after, (id) => groups.some(({ groupId }) => groupId === id));
    const passes = (group: Readonly<LedgerGroup>): boolean =>
      isPast(group.groupId) &&
      group.fate === undefined &&
      (all || isWaiting(group)) &&
      (shares === undefined || shares.includes(shareOf(group)));
    const { page, hasMore } = await takePage(groups, { passes, limit });
    const next = hasMore ? page.at(-1)?.groupId : undefined;
    return { groups: page.map((group) => this.describeGroup(group)), ...(next !== undefined && { next }) };
  }

  /** Returns the groups that no step has taken, oldest first. */
  #openGroups(): readonly LedgerGroup[] {
    const groups = this.#context.policies.flatMap((each) => [...flyingOf(each).flight.groups.values()]);
    return [...new Set(groups)].filter(({ fate }) => fate === undefined);
  }

  describeGroup(group: Readonly<LedgerGroup>): GroupAnswer {
    const { ledger } = this.#context;
    const members = ledger.membersOf(group.groupId).filter((episode) => episode.state !== 'running');
    return {
      group_id: group.groupId,
      task_id: group.taskId,
      share: shareOf(group),
      revision: group.revision,
      score_revision: group.scoreRevision,
      state: ledger.statusOf(group.groupId),
      episodes: members.map(({ episodeId, state, reward }) => ({ episode_id: episodeId, state, reward })),
    };
  }

  group(groupId: string): GroupAnswer {
    const group = this.#context.ledger.state.groups.get(groupId);
    if (group === undefined) throw new WireError('unknown_group', `There is no group "${groupId}", or it is over.`);
    return this.describeGroup(group);
  }

  async keep(name: string, content: unknown): Promise<void> {
    await appendSynced(this.#context, { kind: 'key', name, content });
  }

  async score(groupId: string, { revision, replaces, rewards }: RewardsRequest): Promise<void> {
    const { ledger, writer } = this.#context;
    const scores = rewards.map(({ episode_id, reward, is_success }) => {
      return { episodeId: episode_id, reward, isSuccess: is_success };
    });
    try {
      ledger.score(groupId, { revision, replaces, scores });
    } catch (error) {
      throw error instanceof LedgerError ? new WireError(codeOf(error), error.message) : error;
    }
    await writer.synced();
  }

  /**
   * Changes the configuration. `ifMatch` is the revision that the request changes. A repeated request gets the revision
   * that it made the first time.
   */
  async configure({ request_id, changes }: ConfigRequest, ifMatch: number, asked?: Asked): Promise<ConfigAnswer> {
    const { configs } = this.#context.ledger.state;
    const known = findConfig(configs, request_id, changes);
    const revision = configs.at(-1)?.revision ?? 0;
    if (known === undefined && ifMatch !== revision) throw otherRevision(revision, ifMatch);
    const next = { revision: revision + 1, ...this.#firstSteps(() => 0), requestId: request_id, changes };
    return this.#change(known, next, { ...asked, what: 'configure', changes });
  }

  /** Appends the change together with its entry in the audit, unless the change is known. */
  async #change(
    known: ConfigRecord | undefined,
    next: Omit<ConfigRecord, 'kind' | 'by'>,
    { what, at, by = '', ...said }: Partial<Asked> & { readonly what: string } & Readonly<Record<string, unknown>>,
  ): Promise<ConfigAnswer> {
    const { ledger, writer } = this.#context;
    const { revision, fromStep } = known ?? next;
    const answer = { revision, from_step: fromStep };
    const detail = { ...said, ...answer };
    if (known === undefined && at !== undefined) ledger.append({ kind: 'audit', at, by, what, detail });
    if (known === undefined) ledger.append({ kind: 'config', ...next, by });
    await writer.synced();
    return answer;
  }

  /**
   * Changes the parts of shares. They apply from the first step for which no group was drawn yet, so the composition of
   * each batch is fixed before sampling for the batch begins. If the parts are the same as before, nothing changes. A
   * repeated request gets the revision that it made the first time.
   */
  async share(parts: SharesRequest, requestId: string | undefined, asked?: Asked): Promise<ConfigAnswer> {
    const { ledger, host, writer } = this.#context;
    const { configs } = ledger.state;
    if (rulesOf(this.#context).order === 'drawn') {
      throw new WireError(
        'unknown_config',
        'A run with swarm.order drawn has no shares: it takes the tasks in their order.',
      );
    }
    const changes = { [sharesKey]: toParts(parts) };
    const known = findConfig(configs, requestId, changes);
    const revision = configs.at(-1)?.revision ?? 0;
    const isSame = isDeepStrictEqual(changes[sharesKey], partsAt(ledger.state, rulesOf(this.#context).parts, Infinity));
    if (known === undefined && isSame) {
      await writer.synced();
      const newest = configs.findLast((config) => config.changes[sharesKey] !== undefined);
      return { revision: newest?.revision ?? revision, from_step: newest?.fromStep ?? 1 };
    }
    const aheadOf = (context: SwarmContext): number =>
      Math.ceil(flyingOf(context).flight.groups.size / rulesOf(context).batchSize);
    const named = { requestId: requestId ?? randomName(host.random), changes };
    const next = { revision: revision + 1, ...this.#firstSteps(aheadOf), ...named };
    return this.#change(known, next, { ...asked, what: 'shares', shares: parts });
  }

  /**
   * Returns the step of each policy from which a change applies. `waits` gives the number of steps that a policy has to
   * wait.
   */
  #firstSteps(waits: (context: SwarmContext) => number): Pick<ConfigRecord, 'fromStep' | 'fromSteps'> {
    const { policies } = this.#context;
    const steps = policies.map((each) => [each.policy, each.line.step + 1 + waits(each)] as const);
    const [[, fromStep] = ['', 1]] = steps;
    return { fromStep, ...(hasPolicies(this.#context) && { fromSteps: Object.fromEntries(steps) }) };
  }

  #describeShares(): Pick<ServerAnswer, 'shares'> {
    const { ledger, settings } = this.#context;
    const { state } = ledger;
    const { flight, line } = flyingOf(this.#context);
    if (!hasShares(state, settings.rules)) return {};
    const { idle } = lookAt(this.#context);
    const { carry, trained, lent, asked = {}, got = {} } = line.shares;
    const rows = Object.entries(nextParts(flyingOf(this.#context), settings.rules)).map(([share, part]) => {
      const tasks = tasksOf(state, { share });
      const newest = { asked: asked[share] ?? 0, got: got[share] ?? 0 };
      const counts = { trained: trained[share] ?? 0, lent: lent[share] ?? 0, carry: carry[share] ?? 0, ...newest };
      const inFlight = flight.byShare.get(share) ?? 0;
      return [share, { part, tasks: tasks.length, in_flight: inFlight, ...counts, idle: idle?.has(share) === true }];
    });
    return { shares: Object.fromEntries(rows) as NonNullable<ServerAnswer['shares']> };
  }

  async supersede(revision: string): Promise<void> {
    const { ledger, revisions, writer } = this.#context;
    const shares = shareNames(this.#context);
    for (const share of shares) if (revisions.newestOf(share) !== undefined) revisions.promote(share, revision);
    for (const group of this.#openGroups()) {
      if (group.revision !== revision) ledger.dropGroup(group.groupId, 'superseded');
    }
    takeOverEvaluation(this.#context, shares);
    await writer.synced();
  }

  /**
   * Carries out an order. Each request id is applied only once, so a late copy of an order does not undo a newer order.
   */
  async operate(operation: RunOrder, requestId: string, asked?: Asked): Promise<void> {
    const { ledger, policies, writer } = this.#context;
    this.requireOrder(requestId, operation);
    if (ledger.state.operationIds.has(requestId)) return writer.synced();
    const { isPaused, isDraining, isStopped } = ledger.state.operation;
    const next = {
      kind: 'operation' as const,
      requestId,
      order: operation,
      isPaused: operation === 'pause' || (isPaused && operation !== 'resume'),
      isDraining: operation === 'drain' || (isDraining && operation !== 'start'),
      isStopped: operation === 'stop' || (isStopped && operation !== 'start'),
    };
    const line = { kind: 'audit' as const, what: operation, detail: {} };
    await appendSynced(this.#context, ...(asked === undefined ? [] : [{ ...line, ...asked }]), next);
    // Policies that failed are opened again.
    if (operation === 'start') for (const { health } of policies) health.isWanted = true;
    for (const { gate } of policies) {
      if (next.isPaused) void gate.hold('paused');
      else gate.release('paused');
    }
    if (!next.isStopped) return;
    for (const { groupId } of this.#openGroups()) ledger.dropGroup(groupId, 'run_stopped');
    await this.#context.writer.synced();
  }

  async checkpoint(requestId: string, asked: Asked): Promise<void> {
    this.requireOrder(requestId, 'checkpoint');
    if (this.operation(requestId) === undefined) await orderCheckpoint(this.#context, requestId, asked);
    else await this.#context.writer.synced();
  }

  /** Returns the progress of an order, or undefined if the id is unknown. */
  operation(requestId: string): Omit<OperationAnswer, 'operation_id'> | undefined {
    const order = this.#context.ledger.state.operationIds.get(requestId);
    return order === undefined ? findCheckpointOrder(this.#context, requestId) : { operation: order, state: 'done' };
  }

  /** Throws WireError `name_taken` if another order has the id. */
  requireOrder(requestId: string, operation: Operation): void {
    const known = this.operation(requestId)?.operation;
    if (known === undefined || known === operation) return;
    throw idTaken(requestId, `the order "${known}"`);
  }

  /**
   * Drops episodes that were claimed with a key and are not in a step yet. Their places become free again. Returns the
   * number of dropped episodes.
   */
  async dropOf(keyName: string): Promise<number> {
    const { ledger, writer } = this.#context;
    const isOpen = (state: string): boolean => state === 'running' || state === 'ended' || state === 'pooled';
    const own = [...ledger.undecided()].filter((episode) => episode.keyName === keyName);
    let dropped = 0;
    for (const { episodeId } of own) {
      if (!isOpen(ledger.episode(episodeId).state)) continue;
      ledger.drop(episodeId, 'abandoned', { isCounted: false });
      dropped++;
    }
    await writer.synced();
    return dropped;
  }

  async abandonKey(keyName: string): Promise<void> {
    const { ledger, writer } = this.#context;
    const own = [...ledger.running()].filter((episode) => episode.keyName === keyName);
    for (const { episodeId } of own)
      if (ledger.episode(episodeId).state === 'running') ledger.drop(episodeId, 'abandoned', { isCounted: false });
    await writer.synced();
  }

  describe(): Omit<ServerAnswer, 'wire'> {
    const { ledger, changes, settings, line, weights, lives, host, served } = this.#context;
    const { state } = ledger;
    const { groups, trainable } = flyingOf(this.#context).flight;
    const { droppedByReason, ...account } = ledger.account;
    return {
      change: changes.number,
      state: stateName(this.#context),
      step: line.step,
      version: Math.max(0, weights.version),
      incarnation: line.incarnation,
      groups_open: groups.size - trainable.size,
      groups_pooled: trainable.size,
      running: account.running,
      capacity: settings.capacity,
      config_revision: state.configs.at(-1)?.revision ?? 0,
      tasks: countTasks(state),
      account,
      dropped_by_reason: { ...droppedByReason },
      ...describeProgress(this.#context),
      clients: lives.present().length,
      uptime_seconds: Math.floor((host.now() - served.sinceMs) / 1000),
      ...(served.name !== undefined && { run: served.name }),
      ...this.#describeShares(),
      ...describePolicies(this.#context),
    };
  }
}

/** The person and the time (ISO 8601) of the request, for the audit. */
export type Asked = { readonly by: string; readonly at: string };

const otherRevision = (revision: number, ifMatch: number): WireError =>
  new WireError('revision_conflict', `The configuration has revision ${revision}, not ${ifMatch}. Read it again.`);

/**
 * Returns the earlier result of a request. Throws WireError `name_taken` if a request with the same id made other
 * changes.
 */
function findConfig(
  configs: readonly ConfigRecord[],
  id: string | undefined,
  changes: ConfigRecord['changes'],
): ConfigRecord | undefined {
  const known = configs.find(({ requestId }) => requestId === id);
  if (known === undefined || isDeepStrictEqual(known.changes, changes)) return known;
  throw idTaken(known.requestId, `other changes, which made revision ${known.revision}`);
}

const idTaken = (id: string, what: string): WireError =>
  new WireError('name_taken', `The id ${JSON.stringify(id)} was used for ${what}. Give each request its own id.`);

/** Normalizes parts to a sum of 1. Throws WireError `invalid_request` if their sum is not close to 1. */
function toParts(given: SharesRequest): Parts {
  const names = Object.keys(given).sort();
  const sum = names.reduce((total, name) => total + (given[name] ?? 0), 0);
  if (names.length === 0 || Math.abs(sum - 1) > 0.01)
    throw new WireError('invalid_request', `The parts of the shares add up to ${sum}; they must add up to 1.`);
  return Object.fromEntries(names.map((name) => [name, (given[name] ?? 0) / sum]));
}

const codes: Readonly<Record<string, ErrorCode>> = {
  unknown_group: 'unknown_group',
  group_over: 'assigned',
  not_whole_group: 'not_whole_group',
  revision_conflict: 'revision_conflict',
  bad_reward: 'invalid_request',
};

const codeOf = ({ code }: LedgerError): ErrorCode => codes[code] ?? 'failed';

/** Selects a part of a long answer. */
export type Page = { readonly after?: string | undefined; readonly limit?: number };
