import { sha256 } from '@agentjet/core';
import {
  currentTable,
  defaultShare,
  scheduleOf,
  tableName,
  taskKey,
  tasksOf,
  type AuditRecord,
  type LedgerGroup,
  type TaskRecord,
} from '@agentjet/ledger';
import { WireError, type TasksAnswer, type TasksRequest } from '@agentjet/swarm-wire';
import { requireRoom } from './end-room.js';
import type { Asked } from './operator-routes.js';
import { requireShares } from './share-watch.js';
import { appendSynced, type SwarmContext } from './swarm-context.js';

type Row = TasksRequest['tasks'][number];
type TableOf = Pick<TaskRecord, 'split' | 'share'>;

/** A list that arrives in parts. It is kept in memory only, because an incomplete list has no effect. */
type Upload = { readonly rows: Map<number, Row>; readonly table: string };

/**
 * Accepts the lists of tasks that clients send. A whole list replaces the list of the run, so that edited tasks take
 * effect. Earlier groups keep their tasks, and new groups come from the new list. Single tasks can be added only until
 * the table is complete. The run draws nothing from an incomplete table.
 */
export class TaskLists {
  readonly #context: SwarmContext;
  readonly #uploads = new Map<string, Upload>();
  /** The newest replacement. Replacements are made one after another. */
  #last: Promise<unknown> = Promise.resolve();

  constructor(context: SwarmContext) {
    this.#context = context;
  }

  /**
   * @throws WireError `other_task` for a task that does not belong to the complete table and for a list that was
   * replaced before, and `tasks_missing` if parts of the list are missing
   */
  async add(request: TasksRequest, asked?: Asked): Promise<TasksAnswer> {
    const { split = 'train', share = defaultShare, list } = request;
    requireShares(this.#context, [share]);
    const of = { ...(split === 'evaluation' && { split }), ...(share !== defaultShare && { share }) };
    if (list === undefined && !isWhole(request)) return this.#addRows(request, of, asked);
    const rows = list === undefined ? request.tasks : this.#stage(request, list, of);
    if (rows === undefined) return this.#answer(of, request.tasks);
    const turn = this.#last.then(() => this.#take({ ...request, tasks: [...rows] }, of, asked));
    this.#last = turn.catch(() => undefined);
    return turn;
  }

  /** Keeps a part. Returns the whole list if this is the last part. */
  #stage({ tasks, total }: TasksRequest, list: string, of: TableOf): readonly Row[] | undefined {
    const name = `${tableName(of)}\u0000${list}`;
    const upload = this.#uploads.get(name) ?? { rows: new Map<number, Row>(), table: tableName(of) };
    this.#uploads.delete(name); // moves the upload to the end, where the newest is
    this.#uploads.set(name, upload);
    for (const row of tasks) upload.rows.set(row.index, row);
    this.#forgetUploads();
    if (total === undefined) return undefined;
    this.#uploads.delete(name);
    const rows = [...upload.rows.values()].sort((a, b) => a.index - b.index);
    if (isWhole({ tasks: rows, total })) return rows;
    throw new WireError(
      'tasks_missing',
      `The list has ${total} tasks, but ${rows.length} arrived, because the server was started again meanwhile or ids repeat. Send all parts again.`,
    );
  }

  /** Forgets the oldest lists if incomplete lists take too much memory. */
  #forgetUploads(): void {
    const sizeOf = (): number => [...this.#uploads.values()].reduce((sum, { rows }) => sum + rows.size, 0);
    for (const name of this.#uploads.keys()) {
      if (this.#uploads.size <= mostUploads && sizeOf() <= mostRows) return;
      if (this.#uploads.size > 1) this.#uploads.delete(name);
    }
  }

  /** Accepts a whole list. It is the first list, the list that the run already has, or the next version. */
  async #take(request: TasksRequest, of: TableOf, asked: Asked | undefined): Promise<TasksAnswer> {
    const { tasks } = request;
    const { state } = this.#context.ledger;
    const former = tasksOf(state, of);
    const isComplete = former.findLast(({ total }) => total !== undefined)?.total === former.length;
    const hashes = new Map(tasks.map(({ task_id, hash }) => [task_id, hash]));
    const isPart = former.every(({ taskId, hash }) => hashes.get(taskId) === hash);
    if (isPart && (!isComplete || former.length === tasks.length)) return this.#addRows(request, of, asked);
    const answer = this.#answer(of, tasks);
    await this.#replace(request, { of, former, isComplete, asked });
    return { ...answer, ...this.#size(of) };
  }

  async #replace({ tasks, again = false }: TasksRequest, { of, former, isComplete, asked }: Replaced): Promise<void> {
    const { ledger, notice } = this.#context;
    const { state } = ledger;
    const list = fingerprint(tasks.map(({ task_id, hash }) => [task_id, hash]));
    const before = currentTable(state, of);
    const formerList = before?.list ?? fingerprint(former.map(({ taskId, hash }) => [taskId, hash]));
    const versions = state.tables.get(tableName(of));
    if (!again && versions?.complete.some((each) => each.former === list || each.list === list) === true)
      throw replacedBefore(of);
    this.#requirePasses(of, isComplete);
    const table = (versions?.highest ?? 0) + 1;
    const records = tasks.map((row) => ({ ...toRecord(row, of), table }));
    const last = records.pop();
    if (last === undefined) return;
    await this.#append(records);
    const replaces = { list, former: formerList, ...this.#firstOf(of, isComplete) };
    const share = of.share ?? defaultShare;
    const detail = { share, split: of.split ?? 'train', tasks: tasks.length, version: table, ...replaces };
    ledger.append(...toAudit(asked, 'tasks_replaced', detail), { ...last, total: tasks.length, replaces });
    this.#dropWithoutContent(of, table);
    await this.#context.writer.synced();
    notice(
      `The ${former.length} tasks (${detail.split}, share "${share}") were replaced by ${tasks.length}. Groups that were drawn before keep their tasks.`,
    );
  }

  /** Throws WireError `other_task` if nothing would be drawn from a new list. */
  #requirePasses(of: TableOf, isComplete: boolean): void {
    if (of.split !== undefined || !isComplete) return;
    const { firstPass } = this.#firstOf(of, isComplete);
    const { totalEpochs } = this.#context.settings;
    if (firstPass < totalEpochs) return;
    throw new WireError(
      'other_task',
      `The run has drawn all its tasks ${totalEpochs} times (trainer_common.total_epochs), so changed tasks would never be drawn. Begin a new run for them, or raise total_epochs.`,
    );
  }

  /** Returns the next draw and its pass. This pass begins again with the new list. */
  #firstOf({ share, split }: TableOf, isComplete: boolean): { readonly firstDraw: number; readonly firstPass: number } {
    const { ledger, tasks } = this.#context;
    if (split !== undefined || !isComplete) return { firstDraw: 0, firstPass: 0 };
    const firstDraw = scheduleOf(ledger.state, share).nextDraw;
    return { firstDraw, firstPass: tasks.passOf?.(firstDraw, share ?? defaultShare) ?? 0 };
  }

  /** Drops the groups that still need attempts if only clients of the former list have their tasks. */
  #dropWithoutContent(of: TableOf, table: number): void {
    const { ledger } = this.#context;
    const { tasks } = ledger.state;
    const name = tableName(of);
    const isLost = ({ taskId, table: own = 0, share, purpose }: Readonly<LedgerGroup>): boolean => {
      const ofGroup = { ...(share !== undefined && { share }), ...(purpose === 'evaluation' && { split: purpose }) };
      if (own === table || tableName(ofGroup) !== name) return false;
      return tasks.get(taskKey({ taskId, table: own, ...of }))?.content === undefined;
    };
    for (;;) {
      const place = ledger.nextPlace(isLost);
      if (place === undefined) return;
      ledger.dropGroup(place.groupId, 'superseded');
    }
  }

  /**
   * Adds tasks by id. Throws WireError `other_task`, and adds no task, if an id is known with another content or if a
   * task is not in a complete table.
   */
  async #addRows(request: TasksRequest, of: TableOf, asked: Asked | undefined): Promise<TasksAnswer> {
    const { tasks, total, split = 'train', share = defaultShare } = request;
    const known = this.#known(of);
    const other = tasks.find(({ task_id, hash }) => (known.get(task_id)?.hash ?? hash) !== hash);
    if (other !== undefined) {
      throw new WireError(
        'other_task',
        `Task "${other.task_id}" is known with another content. To change tasks, send the whole list with its total; it then replaces the list of the run.`,
      );
    }
    const added = tasks.filter(({ task_id }) => !known.has(task_id));
    requireOpenTable([...known.values()], added[0]?.task_id, { split, share });
    const answer = this.#answer(of, tasks, known);
    const records = added.map((row) => toRecord(row, of));
    const last = records.pop();
    if (last !== undefined) {
      const audit = toAudit(asked, 'tasks_added', { share, split, tasks: added.length });
      await this.#append(records);
      await appendSynced(this.#context, ...audit, { ...last, ...(total !== undefined && { total }) });
    }
    return { ...answer, ...this.#size(of) };
  }

  /** Appends records over several turns of the event loop, because a list may be long. */
  async #append(records: readonly TaskRecord[]): Promise<void> {
    requireRoom(this.#context.store, 'no new tasks');
    for (let from = 0; from < records.length; from += rowsOfTurn)
      await appendSynced(this.#context, ...records.slice(from, from + rowsOfTurn));
  }

  #known(of: TableOf): ReadonlyMap<string, TaskRecord> {
    return new Map(tasksOf(this.#context.ledger.state, of).map((record) => [record.taskId, record]));
  }

  #answer(of: TableOf, tasks: readonly Row[], known = this.#known(of)): TasksAnswer {
    const added = tasks.filter(({ task_id, hash }) => known.get(task_id)?.hash !== hash).length;
    return { added, known: tasks.length - added, ...this.#size(of) };
  }

  #size(of: TableOf): Pick<TasksAnswer, 'total' | 'replaced'> {
    const { state } = this.#context.ledger;
    const replaced = state.tables.get(tableName(of))?.complete.length ?? 0;
    return { total: tasksOf(state, of).length, ...(replaced > 0 && { replaced }) };
  }
}

type Replaced = {
  readonly of: TableOf;
  readonly former: readonly TaskRecord[];
  readonly isComplete: boolean;
  readonly asked: Asked | undefined;
};

const mostUploads = 16;
const mostRows = 2_000_000;
/** The number of records that are appended in one turn of the event loop. */
const rowsOfTurn = 500;

/** Returns whether the request has a whole list: each position and each id once. */
function isWhole({ tasks, total }: Pick<TasksRequest, 'tasks' | 'total'>): boolean {
  const ids = new Set(tasks.map(({ task_id }) => task_id));
  return total === tasks.length && ids.size === total && tasks.every(({ index }, position) => index === position);
}

const toRecord = ({ task_id, index, hash, task }: Row, of: TableOf): TaskRecord => {
  return { kind: 'task', taskId: task_id, index, hash, ...of, ...(task !== undefined && { content: task }) };
};

const toAudit = (asked: Asked | undefined, what: string, detail: AuditRecord['detail']): readonly AuditRecord[] =>
  asked === undefined ? [] : [{ kind: 'audit', ...asked, what, detail }];

const fingerprint = (rows: readonly (readonly string[])[]): string => sha256(JSON.stringify(rows));

function replacedBefore({ split, share = defaultShare }: TableOf): WireError {
  return new WireError(
    'other_task',
    `This list of tasks (${split ?? 'train'}, share "${share}") was replaced by a newer one. Send the newer list, or nothing. To go back to this list, send it with "again": true; in a client, set replaceTasks.`,
  );
}

/** Throws WireError `other_task` if a task would be added to a complete table, because no task would be drawn then. */
function requireOpenTable(
  table: readonly Readonly<TaskRecord>[],
  added: string | undefined,
  { split, share }: { readonly split: string; readonly share: string },
): void {
  const total = table.findLast((record) => record.total !== undefined)?.total;
  if (added === undefined || total === undefined || table.length < total) return;
  throw new WireError(
    'other_task',
    `Task "${added}" is not one of the ${total} tasks (${split}, share "${share}") of this run. To change tasks, send the whole list with its total; it then replaces the list of the run.`,
  );
}
