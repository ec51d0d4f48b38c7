import { accountOf, isSampled, LedgerError, taskKey, type LedgerGroup } from '@agentjet/ledger';
import {
  WireError,
  type ConfigAnswer,
  type ConfigRequest,
  type ErrorCode,
  type GroupAnswer,
  type GroupsAnswer,
  type RewardsRequest,
  type ServerAnswer,
  type TasksAnswer,
  type TasksRequest,
} from '@agentjet/swarm-wire';
import { appendSynced, type SwarmContext } from './swarm-context.js';

/** What scorers and operators ask for. */
export class OperatorRoutes {
  readonly #context: SwarmContext;

  constructor(context: SwarmContext) {
    this.#context = context;
  }

  /** Groups that are sampled and have an episode without a reward. */
  unscored(all: boolean): GroupsAnswer {
    const { state, rules } = this.#context.ledger;
    const isWaiting = (group: Readonly<LedgerGroup>): boolean =>
      isSampled(state, group, rules) &&
      this.#context.ledger.membersOf(group.groupId).some((episode) => episode.state === 'ended');
    const groups = [...this.#context.ledger.flight.groups.values()].filter((group) => all || isWaiting(group));
    return { groups: groups.map((group) => this.describeGroup(group)) };
  }

  describeGroup(group: Readonly<LedgerGroup>): GroupAnswer {
    const { ledger } = this.#context;
    const members = ledger.membersOf(group.groupId).filter((episode) => episode.state !== 'running');
    return {
      group_id: group.groupId,
      task_id: group.taskId,
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

  /** Adds tasks by id. The same id with another content is refused, and then none is added. */
  async addTasks({ tasks, total, split: given }: TasksRequest): Promise<TasksAnswer> {
    const { ledger } = this.#context;
    const known = ledger.state.tasks;
    const split = given === 'evaluation' ? given : undefined;
    const find = (taskId: string) => known.get(taskKey(taskId, split));
    const other = tasks.find(({ task_id, hash }) => (find(task_id)?.hash ?? hash) !== hash);
    if (other !== undefined) {
      throw new WireError(
        'other_task',
        `Task "${other.task_id}" is known with another content. Give changed tasks new ids.`,
      );
    }
    const added = tasks.filter(({ task_id }) => find(task_id) === undefined);
    const records = added.map(({ task_id, index, hash, task }) => {
      const more = { ...(split !== undefined && { split }), ...(task !== undefined && { content: task }) };
      return { kind: 'task' as const, taskId: task_id, index, hash, ...more };
    });
    const last = records.at(-1);
    if (last !== undefined) {
      await appendSynced(this.#context, ...records.slice(0, -1), { ...last, ...(total !== undefined && { total }) });
    }
    const ofSplit = [...known.values()].filter((record) => record.split === split);
    return { added: added.length, known: tasks.length - added.length, total: ofSplit.length };
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

  /** `ifMatch`: the revision that is changed. The same request gets the revision it made. */
  async configure({ request_id, changes }: ConfigRequest, ifMatch: number, by = ''): Promise<ConfigAnswer> {
    const { ledger, writer } = this.#context;
    const { configs, step } = ledger.state;
    const known = configs.find(({ requestId }) => requestId === request_id);
    const revision = configs.at(-1)?.revision ?? 0;
    if (known === undefined && ifMatch !== revision) {
      throw new WireError(
        'revision_conflict',
        `The configuration has revision ${revision}, not ${ifMatch}. Read it again.`,
      );
    }
    const made = known ?? {
      kind: 'config' as const,
      revision: revision + 1,
      fromStep: step + 1,
      requestId: request_id,
      changes,
      by,
    };
    if (known === undefined) ledger.append(made);
    await writer.synced();
    return { revision: made.revision, from_step: made.fromStep };
  }

  async supersede(revision: string): Promise<void> {
    const { ledger, writer } = this.#context;
    for (const group of ledger.flight.groups.values()) {
      if (group.revision !== revision && group.fate === undefined) ledger.dropGroup(group.groupId, 'superseded');
    }
    await writer.synced();
  }

  /** The same request id is applied once: a late copy of an order does not undo a newer one. */
  async operate(operation: 'start' | 'pause' | 'resume' | 'drain' | 'stop', requestId: string): Promise<void> {
    const { ledger, gate, writer } = this.#context;
    if (ledger.state.operationIds.has(requestId)) return writer.synced();
    const { isPaused, isDraining, isStopped } = ledger.state.operation;
    const next = {
      kind: 'operation' as const,
      requestId,
      isPaused: operation === 'pause' || (isPaused && operation !== 'resume'),
      isDraining: operation === 'drain' || (isDraining && operation !== 'start'),
      isStopped: operation === 'stop' || (isStopped && operation !== 'start'),
    };
    await appendSynced(this.#context, next);
    if (next.isPaused) void gate.hold('paused');
    else gate.release('paused');
    if (!next.isStopped) return;
    for (const { groupId, fate } of ledger.flight.groups.values()) {
      if (fate === undefined) ledger.dropGroup(groupId, 'run_stopped');
    }
    await this.#context.writer.synced();
  }

  checkpoint(requestId: string): void {
    const { wanted, changes } = this.#context;
    if (!wanted.has(requestId)) wanted.set(requestId, 'accepted');
    changes.notify();
  }

  operation(requestId: string): 'accepted' | 'done' | 'failed' | undefined {
    const { wanted, ledger } = this.#context;
    return wanted.get(requestId) ?? (ledger.state.operationIds.has(requestId) ? 'done' : undefined);
  }

  async abandonKey(keyName: string): Promise<void> {
    const { ledger, writer } = this.#context;
    const own = [...ledger.state.episodes.values()].filter((episode) => episode.keyName === keyName);
    for (const { episodeId, state } of own)
      if (state === 'running') ledger.drop(episodeId, 'abandoned', { isCounted: false });
    await writer.synced();
  }

  describe(): Omit<ServerAnswer, 'wire'> {
    const { ledger, changes, settings } = this.#context;
    const { state } = ledger;
    const { groups, trainable } = ledger.flight;
    const { droppedByReason, ...account } = accountOf(state);
    return {
      change: changes.number,
      state: this.#stateName(),
      step: state.step,
      version: Math.max(0, this.#context.weights.version),
      incarnation: state.incarnation,
      groups_open: groups.size - trainable.size,
      groups_pooled: trainable.size,
      running: account.running,
      capacity: settings.capacity,
      config_revision: state.configs.at(-1)?.revision ?? 0,
      tasks: state.tasks.size,
      account,
      dropped_by_reason: { ...droppedByReason },
    };
  }

  #stateName(): ServerAnswer['state'] {
    const { weights, ledger } = this.#context;
    const { isPaused, isDraining, isStopped } = ledger.state.operation;
    if (weights.phase === 'failed' || weights.phase === 'recovering') return weights.phase;
    if (isStopped) return 'offline';
    if (isPaused) return 'paused';
    if (isDraining) return 'draining';
    return weights.phase === 'updating' ? 'updating' : 'rolling';
  }
}

const codes: Readonly<Record<string, ErrorCode>> = {
  unknown_group: 'unknown_group',
  group_over: 'assigned',
  not_whole_group: 'not_whole_group',
  revision_conflict: 'revision_conflict',
  bad_reward: 'invalid_request',
};

const codeOf = ({ code }: LedgerError): ErrorCode => codes[code] ?? 'failed';
