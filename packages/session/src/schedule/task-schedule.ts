import { passOrder, TaskError, type Task } from '@agentjet/core';
import type { TaskTable } from '@agentjet/rollout';
import type { Draw, Draws } from '@agentjet/run-folder';

/** Which tasks a run draws, in which order. It has no state: a resumed run gets what an uninterrupted one would have got. */
export type TaskSchedule = {
  /** Tasks per optimizer step: the configured number, or all if there are fewer. */
  readonly batchSize: number;
  readonly totalSteps: number;
  /** Tasks of a step; the last one of a run that counts epochs may have fewer. 0 after it. */
  readonly sizeOf: (step: number) => number;
  /** The draws that are not among `drawn`, in order and without end; `sizeOf` says how many a step takes. */
  readonly draws: (drawn: Draws) => Generator<Draw, never, undefined>;
  readonly taskOf: (draw: Draw) => Promise<Task>;
};

type ScheduleOptions = {
  readonly batchSize: number;
  readonly epochs: number;
  /** Goes before `epochs`. */
  readonly totalSteps: number | null;
  /** A table of unknown size keeps its own order. */
  readonly shuffle: boolean;
  readonly seed: number;
};

/**
 * Pass after pass over a table that is not empty. The order of a pass is an order of indices: tasks are read when they are
 * drawn. Throws TaskError `endless_tasks` if neither the size of the table nor the number of steps is known.
 */
export function createTaskSchedule(table: TaskTable, options: ScheduleOptions): TaskSchedule {
  const size = table.size ?? Infinity;
  const batchSize = Math.min(options.batchSize, size);
  const totalSteps = options.totalSteps ?? Math.ceil((options.epochs * size) / batchSize);
  if (totalSteps === Infinity) throw endlessTasks(table);
  const totalDraws = options.totalSteps === null ? options.epochs * size : totalSteps * batchSize;
  const orderOf = createOrder(table, options);
  return {
    batchSize,
    totalSteps,
    sizeOf: (step) => Math.max(0, Math.min(batchSize, totalDraws - (step - 1) * batchSize)),
    draws: function* (drawn) {
      const taken = flatten(drawn, size);
      for (let place = 0; ; place++) {
        while (taken[0] !== undefined && taken[0].to <= place) taken.shift();
        if (taken[0] === undefined || place < taken[0].from) yield toDraw(place, size);
        else place = taken[0].to - 1;
      }
    },
    taskOf: ({ epoch, index }) => table.taskAt(orderOf(epoch, index)),
  };
}

/** The index in the table of a place in the order of a pass. The order of the newest pass is kept. */
function createOrder(
  { size }: TaskTable,
  { shuffle, seed }: ScheduleOptions,
): (epoch: number, place: number) => number {
  if (!shuffle || size === null) return (_, place) => place;
  let kept: { readonly epoch: number; readonly order: Uint32Array } = { epoch: -1, order: new Uint32Array() };
  return (epoch, place) => {
    if (kept.epoch !== epoch) kept = { epoch, order: passOrder(seed, epoch, size) };
    return kept.order[place] ?? size;
  };
}

/**
 * Places counted through all passes, ascending. A checkpoint that has only a count says "the first of epoch 0" of draws that
 * reach into later passes; counted like this they are the same.
 */
function flatten(drawn: Draws, size: number): { readonly from: number; readonly to: number }[] {
  const places = drawn.flatMap(({ epoch, ranges }) => {
    const start = epoch === 0 ? 0 : epoch * size;
    return ranges.map(([from, to]) => ({ from: start + from, to: start + to }));
  });
  return places.sort((a, b) => a.from - b.from);
}

function toDraw(place: number, size: number): Draw {
  return size === Infinity ? { epoch: 0, index: place } : { epoch: Math.floor(place / size), index: place % size };
}

function endlessTasks({ source }: TaskTable): TaskError {
  return new TaskError(
    'endless_tasks',
    `Nobody knows how many tasks ${source.location} has. Set trainer_common.total_training_steps.`,
  );
}
