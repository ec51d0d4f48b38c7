import { TaskError, type Task } from '@agentjet/core';

/** Tasks that can be read one by one, in any order, so they need not all be in memory. */
export interface TaskTable {
  /** Null if the number is unknown. */
  readonly size: number | null;
  readonly source: SourceCard;
  /**
   * Returns the task at an index from 0. The same index gives the same task. Rejects with TaskError beyond the last
   * one.
   */
  taskAt(index: number): Promise<Task>;
}

/** Where tasks come from, for the record of a run. */
export type SourceCard = {
  /** A kind such as `list` or `jsonl_dataset_file`. */
  readonly kind: string;
  /** A path, an address or a description. */
  readonly location: string;
  /** The version that was read. Null if the source has no versions. */
  readonly revision: string | null;
  /** The hash of the content that was read. Null if it was not computed. */
  readonly sha256: string | null;
};

/** Creates a table from a list. */
export function createListTable(tasks: readonly Task[], location: string): TaskTable {
  return {
    size: tasks.length,
    source: { kind: 'list', location, revision: null, sha256: null },
    taskAt: async (index) => {
      const task = tasks[index];
      if (task !== undefined) return task;
      throw new TaskError('no_such_task', `There is no task ${index}: ${location} has ${tasks.length}.`);
    },
  };
}
