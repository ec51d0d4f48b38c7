import type { Task } from '@agentjet/core';
import type { SideCard, TaskReader, TasksCard } from '@agentjet/rollout/inputs';
import { openSide, openSplits, type SideRows, type SplitOptions } from '../splits/open-splits.js';
import type { TaskSplit } from '../splits/task-split.js';

/** Functions that open the rows of each side. Null: the side has no source. */
export type SideSources = {
  readonly training: (() => Promise<SideRows>) | null;
  readonly evaluation: (() => Promise<SideRows | null>) | null;
};

const noTasks: SideCard = { tasks: 0, sources: [], dropped: [] };

/** Creates a task reader over rows that are opened once, on demand. Both sides are checked against each other. */
export function createSplitReader(sources: SideSources, options: SplitOptions): TaskReader {
  const evaluationRows = once(sources.evaluation ?? (async () => null));
  const splits = once(async () =>
    sources.training === null ? null : openSplits(await sources.training(), await evaluationRows(), options),
  );
  const evaluationAlone = once(async () => {
    const side = await evaluationRows();
    return side === null ? null : openSide(side);
  });
  /** An evaluation alone does not read the training rows, unless the evaluation tasks come from them. */
  const evaluation = async (): Promise<TaskSplit | null> =>
    sources.evaluation === null && options.split.evaluation > 0
      ? ((await splits())?.evaluation ?? null)
      : evaluationAlone();
  const trainingSplit = async (): Promise<TaskSplit | undefined> => (await splits())?.training;
  return {
    trainingTasks: () => tasksOf(trainingSplit),
    evaluationTasks: () => tasksOf(evaluation),
    ...(sources.training !== null && { trainingTable: async () => required(await trainingSplit()) }),
    describe: async (): Promise<TasksCard> => ({
      training: (await trainingSplit())?.card ?? noTasks,
      evaluation: (await evaluation())?.card ?? noTasks,
    }),
  };
}

function required(split: TaskSplit | undefined): TaskSplit {
  if (split === undefined) throw new Error('A side without a source has no table.');
  return split;
}

async function* tasksOf(split: () => Promise<TaskSplit | null | undefined>): AsyncGenerator<Task> {
  yield* (await split())?.tasks() ?? [];
}

/** Calls `make` for the first caller only. A failure is not kept, because the cause may have been repaired. */
export function once<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | undefined;
  return async () => {
    made ??= make().catch((error: unknown) => {
      made = undefined;
      throw error;
    });
    return made;
  };
}
