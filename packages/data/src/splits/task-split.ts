import { TaskError, type Task } from '@agentjet/core';
import type { DroppedTasks, SideCard, SourceCard, TaskTable } from '@agentjet/rollout/inputs';
import type { TaskRows } from '../table/task-rows.js';
import type { RowSelection } from './row-selection.js';

type Parts = {
  readonly rows: TaskRows;
  readonly selection: RowSelection;
  readonly source: SourceCard;
  readonly sources: readonly SourceCard[];
  readonly dropped: readonly DroppedTasks[];
};

/** The training tasks or the evaluation tasks as a table: some rows of some files. */
export class TaskSplit implements TaskTable {
  readonly #parts: Parts;

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  get size(): number {
    return this.#parts.selection.size;
  }

  get source(): SourceCard {
    return this.#parts.source;
  }

  get card(): SideCard {
    const { sources, dropped } = this.#parts;
    return { tasks: this.size, sources, dropped };
  }

  async taskAt(index: number): Promise<Task> {
    const { rows, selection, source } = this.#parts;
    if (index < 0 || index >= this.size || !Number.isInteger(index))
      throw new TaskError('no_such_task', `There is no task ${index}: ${source.location} has ${this.size}.`);
    return rows.taskAt(selection.rowAt(index));
  }

  /** Returns the tasks in order. */
  async *tasks(): AsyncGenerator<Task> {
    for (let index = 0; index < this.size; index++) yield await this.taskAt(index);
  }
}
