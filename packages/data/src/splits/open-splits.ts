import { ConfigError } from '@agentjet/core';
import type { DroppedTasks, SourceCard } from '@agentjet/rollout/inputs';
import type { TaskRows } from '../table/task-rows.js';
import { checkIds } from './check-ids.js';
import { divideRows, type SplitRule } from './divide-rows.js';
import { dropDuplicates, type DuplicateOptions } from './drop-duplicates.js';
import { findOverlap, leakError } from './find-leaks.js';
import { RowSelection } from './row-selection.js';
import { TaskSplit } from './task-split.js';

/** The rows of one side, and their source. */
export type SideRows = {
  readonly rows: TaskRows;
  /** A path or an address, for messages. */
  readonly location: string;
  readonly sources: readonly SourceCard[];
  /** Tasks that were left out before they became rows. */
  readonly dropped?: readonly DroppedTasks[];
};

export type SplitOptions = Omit<DuplicateOptions, 'onProgress'> & {
  readonly split: SplitRule;
  /** Whether a task may be in both training and evaluation. */
  readonly allowOverlap: boolean;
  readonly onNotice: (message: string) => void;
  readonly onProgress: (what: string, share: number) => void;
};

export type Splits = { readonly training: TaskSplit; readonly evaluation: TaskSplit | null };

/**
 * Opens training and evaluation tasks and checks them: ids are unique on each side, no task is on both sides, and repeated training
 * tasks are dropped if the options say so. Throws TaskError with the places of the problem.
 */
export async function openSplits(
  training: SideRows,
  evaluation: SideRows | null,
  options: SplitOptions,
): Promise<Splits> {
  if (evaluation !== null && options.split.evaluation > 0)
    throw new ConfigError(
      'conflict',
      `split.evaluation is ${options.split.evaluation}, but there are already evaluation tasks: ${evaluation.location}. Leave one of them out.`,
    );
  await checkIds(training.rows);
  if (evaluation !== null) await checkIds(evaluation.rows);
  const sides = await toSides(training, evaluation, options);
  const { selection, dropped } = await dropDuplicates(training.rows, sides.training.selection, {
    ...options,
    onProgress: (share) => options.onProgress('comparing', share),
  });
  const kept = { ...sides.training, selection };
  await checkOverlap(kept, sides.evaluation, options);
  return { training: toSplit(kept, dropped), evaluation: sides.evaluation && toSplit(sides.evaluation, []) };
}

/** Opens one side alone, for an evaluation. */
export async function openSide(side: SideRows): Promise<TaskSplit> {
  await checkIds(side.rows);
  return toSplit({ ...side, selection: RowSelection.all(side.rows.size) }, []);
}

type Side = SideRows & { readonly selection: RowSelection };

async function toSides(
  training: SideRows,
  evaluation: SideRows | null,
  { split }: SplitOptions,
): Promise<{ readonly training: Side; readonly evaluation: Side | null }> {
  const whole = (side: SideRows): Side => ({ ...side, selection: RowSelection.all(side.rows.size) });
  if (split.evaluation === 0) return { training: whole(training), evaluation: evaluation && whole(evaluation) };
  const selections = await divideRows(training.rows, split);
  return {
    training: { ...training, selection: selections.training },
    evaluation: { ...training, selection: selections.evaluation },
  };
}

async function checkOverlap(training: Side, evaluation: Side | null, options: SplitOptions): Promise<void> {
  if (evaluation === null) return;
  const overlap = await findOverlap(training, evaluation);
  if (overlap.count === 0) return;
  if (!options.allowOverlap) throw leakError(overlap);
  options.onNotice(
    `${overlap.count} training ${overlap.count === 1 ? 'task is an evaluation task' : 'tasks are evaluation tasks'} as well (allow_overlap), such as ${overlap.examples[0] ?? ''}.`,
  );
}

function toSplit(side: Side, droppedHere: readonly DroppedTasks[]): TaskSplit {
  const { rows, selection, location, sources, dropped: before = [] } = side;
  const dropped = [...before, ...droppedHere];
  const [first] = sources;
  const source =
    sources.length === 1 && first !== undefined
      ? first
      : { kind: first?.kind ?? 'files', location, revision: first?.revision ?? null, sha256: null };
  return new TaskSplit({ rows, selection, source, sources, dropped });
}
