import type { DroppedTasks } from '@agentjet/rollout/inputs';
import { HashTable } from '../table/hash-table.js';
import type { TaskRows } from '../table/task-rows.js';
import { normalizedText, type Hash } from '../table/text-hash.js';
import { NearDuplicates } from './near-duplicates.js';
import type { RowSelection } from './row-selection.js';

export type DuplicateOptions = {
  readonly duplicates: 'keep' | 'exact' | 'near';
  /** The similarity of near duplicates, 0 to 1. */
  readonly similarity: number;
  readonly onProgress: (share: number) => void;
};

type Kept = { readonly selection: RowSelection; readonly dropped: readonly DroppedTasks[] };

const numExamples = 5;

/**
 * Returns the selection without tasks that repeat an earlier one. Exact duplicates are found by 64-bit hashes of the texts without
 * case and white space. Among a million texts, two different ones share a hash with a probability of 1 in 30 million.
 */
export async function dropDuplicates(
  rows: TaskRows,
  selection: RowSelection,
  options: DuplicateOptions,
): Promise<Kept> {
  if (options.duplicates === 'keep') return { selection, dropped: [] };
  const exact = dropExact(rows, selection);
  if (options.duplicates === 'exact') return exact;
  const near = await dropNear(rows, exact.selection, options);
  return { selection: near.selection, dropped: [...exact.dropped, ...near.dropped] };
}

function dropExact(rows: TaskRows, selection: RowSelection): Kept {
  const seen = new HashTable(selection.size);
  const pairs = new Map<number, number>();
  const kept = selection.filter((row) => {
    const hash: Hash = rows.hashOf('text', row);
    const [earlier] = seen.find(hash);
    if (earlier === undefined) seen.add(hash, row);
    else pairs.set(row, earlier);
    return earlier === undefined;
  });
  return { selection: kept, dropped: describe(rows, 'exact duplicate of an earlier task', pairs) };
}

async function dropNear(rows: TaskRows, selection: RowSelection, options: DuplicateOptions): Promise<Kept> {
  const near = new NearDuplicates(options.similarity, selection.size);
  const pairs = new Map<number, number>();
  const kept: number[] = [];
  for (let at = 0; at < selection.size; at++) {
    const row = selection.rowAt(at);
    const earlier = near.add(normalizedText(await rows.taskAt(row)));
    if (earlier === undefined) kept.push(row);
    else pairs.set(row, kept[earlier] ?? row);
    if (at % 1000 === 0) options.onProgress(at / selection.size);
  }
  const reason = `near duplicate of an earlier task (similarity ${options.similarity} or more)`;
  return { selection: selection.filter((row) => !pairs.has(row)), dropped: describe(rows, reason, pairs) };
}

function describe(rows: TaskRows, reason: string, pairs: ReadonlyMap<number, number>): readonly DroppedTasks[] {
  if (pairs.size === 0) return [];
  const examples = [...pairs]
    .slice(0, numExamples)
    .map(([row, earlier]) => `${rows.placeOf(row)} repeats ${rows.placeOf(earlier)}`);
  return [{ reason, count: pairs.size, examples }];
}
