import { TaskError, type Task } from '@agentjet/core';

/** Tasks that can be asked for one by one, in any order, so that nobody has to hold all of them. */
export interface TaskTable {
  /** Null: nobody knows how many there are. */
  readonly size: number | null;
  readonly source: SourceCard;
  /** From 0. The same index gives the same task. Rejects with TaskError beyond the last one. */
  taskAt(index: number): Promise<Task>;
}

/** Where tasks come from, for the record of a run. */
export type SourceCard = {
  /** Such as `list` or `jsonl_dataset_file`. */
  readonly kind: string;
  /** A path, an address, or words. */
  readonly location: string;
  /** The version of the source that was read, if it has versions. */
  readonly revision: string | null;
  /** Of the content that was read, if it was summed. */
  readonly sha256: string | null;
};

/** A list is a table. */
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
