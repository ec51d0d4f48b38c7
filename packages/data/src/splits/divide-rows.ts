import { ConfigError, TaskError } from '@agentjet/core';
import type { TaskRows } from '../table/task-rows.js';
import { hashText, type Hash } from '../table/text-hash.js';
import { RowSelection } from './row-selection.js';

/** How one source is divided into two sides. */
export type SplitRule = {
  /** The approximate share of the tasks, 0 to 1. 0 sets none aside. */
  readonly evaluation: number;
  /** `content` (the text of the task), `task_id`, or a name in its metadata, which keeps tasks with the same value together. */
  readonly by: string;
};

type Sides = { readonly training: RowSelection; readonly evaluation: RowSelection };

/** Divides by hash alone, so that a task stays on its side if rows are added, removed or moved. */
export async function divideRows(rows: TaskRows, { evaluation, by }: SplitRule): Promise<Sides> {
  const isEvaluation = new Uint8Array(rows.size);
  const decide = (row: number, hash: Hash): void => void (isEvaluation[row] = Number(shareOf(hash) < evaluation));
  if (by === 'content' || by === 'main_query') rows.forEachHash('text', decide);
  else if (by === 'task_id') rows.forEachHash('id', decide);
  else for (let row = 0; row < rows.size; row++) decide(row, await hashField(rows, row, by));
  const all = RowSelection.all(rows.size);
  const sides = {
    training: all.filter((row) => isEvaluation[row] === 0),
    evaluation: all.filter((row) => isEvaluation[row] === 1),
  };
  if (sides.training.size > 0) return sides;
  throw new ConfigError(
    'no_tasks',
    `split.evaluation is ${evaluation}, which leaves none of ${rows.size} tasks for training. Choose a smaller share.`,
  );
}

/** Returns a number in [0, 1). The hash is mixed once more, because the result depends mostly on its highest bits. */
function shareOf({ high, low }: Hash): number {
  const mixed = Math.imul(high ^ (low >>> 15), 0x2c1b3c6d);
  return ((mixed ^ (mixed >>> 13)) >>> 0) / 2 ** 32;
}

async function hashField(rows: TaskRows, row: number, name: string): Promise<Hash> {
  const { metadata } = await rows.taskAt(row);
  const value = Object.hasOwn(metadata, name) ? metadata[name] : undefined;
  if (value === undefined || value === null)
    throw new TaskError(
      'missing_column',
      `${rows.placeOf(row)}: split.by is "${name}", which the task does not have. It has ${Object.keys(metadata).join(', ')}.`,
    );
  return hashText(typeof value === 'string' ? value : JSON.stringify(value), { high: 0, low: 0 });
}
