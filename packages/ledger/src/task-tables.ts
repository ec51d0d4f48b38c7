import type { ReplacedTable, TaskRecord } from './records.js';
import { defaultShare } from './shares.js';
import type { LedgerState } from './state.js';

/**
 * Each share has a table of tasks for training and a table for evaluations. A complete table does not change, but a new
 * version can replace the whole table. Groups that were drawn before keep the version that they were drawn from.
 */

type TableOf = Pick<TaskRecord, 'split' | 'share'>;

/** The versions of a table, without the first version, whose number is 0. */
export type TableVersions = {
  /** The highest version number of all records. Records of this version may still be missing. */
  highest: number;
  /** The versions that were completed, oldest first. Tasks are drawn from the newest one. */
  readonly complete: TableVersion[];
};

export type TableVersion = ReplacedTable & { readonly number: number };

/** Returns the key of a task in `LedgerState.tasks`. */
export function taskKey(task: Pick<TaskRecord, 'taskId' | 'table'> & TableOf): string {
  const { taskId, table = 0, split, share = defaultShare } = task;
  if (table === 0 && split === undefined && share === defaultShare) return taskId;
  return [...(table === 0 ? [] : ['table', table]), ...nameParts(task), taskId].join('\u0000');
}

/** Returns the key of a table in `LedgerState.tables`. */
export const tableName = (of: TableOf): string => nameParts(of).join('\u0000');

const nameParts = ({ split, share }: TableOf): readonly string[] => [
  ...(share === undefined || share === defaultShare ? [] : ['share', share]),
  ...(split === undefined ? [] : [split]),
];

/** Returns the version from which tasks are drawn, or undefined if the first version was not replaced. */
export const currentTable = ({ tables }: Pick<LedgerState, 'tables'>, of: TableOf): TableVersion | undefined =>
  tables.size === 0 ? undefined : tables.get(tableName(of))?.complete.at(-1);

/** Returns the tasks of one version of a table. Default: the version from which tasks are drawn. */
export function tasksOf(
  state: Pick<LedgerState, 'tables' | 'tasks'>,
  of: TableOf,
  number = currentTable(state, of)?.number ?? 0,
): readonly TaskRecord[] {
  const { split, share = defaultShare } = of;
  const isIn = (record: TaskRecord): boolean =>
    record.split === split && (record.share ?? defaultShare) === share && (record.table ?? 0) === number;
  return [...state.tasks.values()].filter(isIn);
}

/** Returns the number of tasks from which the run draws. */
export function countTasks(state: Pick<LedgerState, 'tables' | 'tasks'>): number {
  if (state.tables.size === 0) return state.tasks.size;
  const isCurrent = (record: TaskRecord): boolean => (record.table ?? 0) === (currentTable(state, record)?.number ?? 0);
  return [...state.tasks.values()].filter(isCurrent).length;
}

export function applyTask(state: LedgerState, record: TaskRecord): void {
  state.tasks.set(taskKey(record), record);
  const { table: number, replaces } = record;
  if (number === undefined) return;
  const name = tableName(record);
  const versions = state.tables.get(name) ?? { highest: 0, complete: [] };
  state.tables.set(name, versions);
  versions.highest = Math.max(versions.highest, number);
  if (replaces === undefined) return;
  versions.complete.push({ ...replaces, number });
  forgetTasks(state, record);
}

/** Forgets each earlier version, unless a group still has one of its tasks. */
function forgetTasks(state: LedgerState, { split, share = defaultShare, table }: TaskRecord): void {
  const kept = new Set([table]);
  for (const group of state.groups.values()) {
    const isOf =
      (group.share ?? defaultShare) === share && (group.purpose === 'evaluation') === (split === 'evaluation');
    if (isOf) kept.add(group.table ?? 0);
  }
  for (const [key, task] of state.tasks)
    if (task.split === split && (task.share ?? defaultShare) === share && !kept.has(task.table ?? 0))
      state.tasks.delete(key);
}
