import { TaskError } from '@agentjet/core';
import { HashTable } from '../table/hash-table.js';
import type { TaskRows } from '../table/task-rows.js';
import { normalizedText } from '../table/text-hash.js';
import type { RowSelection } from './row-selection.js';

export type Overlap = { readonly count: number; readonly examples: readonly string[] };

type Side = { readonly rows: TaskRows; readonly selection: RowSelection };

const numExamples = 5;

/**
 * Finds tasks that are on both sides, by their texts without case and white space. 64-bit hashes find candidates, and the first
 * ones are compared by their texts.
 */
export async function findOverlap(training: Side, evaluation: Side): Promise<Overlap> {
  const held = new HashTable(evaluation.selection.size);
  for (let at = 0; at < evaluation.selection.size; at++) {
    const row = evaluation.selection.rowAt(at);
    held.add(evaluation.rows.hashOf('text', row), row);
  }
  const [examples, counted]: [string[], { count: number }] = [[], { count: 0 }];
  const found: [own: number, other: number][] = [];
  training.rows.forEachHash('text', (row, hash) => {
    if (!held.has(hash) || !training.selection.has(row)) return;
    counted.count++;
    const [other] = held.find(hash);
    if (found.length < numExamples && other !== undefined) found.push([row, other]);
  });
  for (const [own, other] of found) {
    const [left, right] = [await training.rows.taskAt(own), await evaluation.rows.taskAt(other)];
    if (normalizedText(left) === normalizedText(right))
      examples.push(`${training.rows.placeOf(own)} and ${evaluation.rows.placeOf(other)}`);
    else counted.count--;
  }
  return { count: counted.count, examples };
}

/** Returns the error for an overlap, with the repair. */
export function leakError({ count, examples: [first = ''] }: Overlap): TaskError {
  const others = count === 1 ? '' : ` ${count} training tasks are like this.`;
  return new TaskError(
    'leaked_tasks',
    `A task is in both training and evaluation: ${first}.${others} Evaluation would measure tasks that were trained. Take them out of one side, or set allow_overlap: true if the tasks differ in their metadata.`,
  );
}
