import { passOrder, TaskError, type Task } from '@agentjet/core';
import type { TaskTable } from '@agentjet/rollout';
import type { Draw, Draws } from '@agentjet/run-folder';

/**
 * Decides which tasks a run draws, and in which order. It has no state: a resumed run draws the same tasks as an
 * uninterrupted one.
 */
export type TaskSchedule = {
  /** The number of tasks in a step: the configured number, or all tasks if there are fewer. */
  readonly batchSize: number;
  readonly totalSteps: number;
  /** The number of tasks of a step. The last step of a run that counts epochs may have fewer; later steps have 0. */
  readonly sizeOf: (step: number) => number;
  /**
   * Yields the draws that are not in `drawn`, in order and without end. `sizeOf` gives the number of draws that a step
   * takes.
   */
  readonly draws: (drawn: Draws) => Generator<Draw, never, undefined>;
  readonly taskOf: (draw: Draw) => Promise<Task>;
};

type ScheduleOptions = {
  readonly batchSize: number;
  readonly epochs: number;
  /** Takes precedence over `epochs`. */
  readonly totalSteps: number | null;
  /** A table of unknown size keeps its own order. */
  readonly shuffle: boolean;
  readonly seed: number;
};

/**
 * Creates a schedule that makes one pass after another over a table. The table must not be empty. Each pass shuffles
 * indices, because tasks are read only when they are drawn. Throws TaskError `endless_tasks` if neither the size of the
 * table nor the number of steps is known.
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

/**
 * Returns a function that finds the table index for a position in a pass. The order of the newest pass is kept in
 * memory.
 */
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
 * Returns the positions of the draws in ascending order, numbered over all passes. If a checkpoint has only a count,
 * its draws are stored as the first draws of epoch 0, even if they reach into later passes. With numbers over all
 * passes, both forms are equal.
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
    `The number of tasks in ${source.location} is unknown. Set trainer_common.total_training_steps.`,
  );
}
