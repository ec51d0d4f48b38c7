import { createRandom, deriveSeed, type CommonConfig, type Task } from '@agentjet/core';
import { noTrainingTasks } from '@agentjet/inputs';
import { pickIndices } from '@agentjet/probe';
import type { TaskReader } from '@agentjet/rollout';
import { openTrainingTable } from '@agentjet/local-run';

export type ProbedTasks = {
  readonly tasks: readonly Task[];
  /** The number of training tasks. Null: unknown. */
  readonly available: number | null;
};

/**
 * If the size of the source is unknown, the probe chooses among at least this many tasks from the beginning of the
 * source.
 */
const firstOfMany = 1000;

/** At most `most` training tasks that represent all of them, in random order. Throws TaskError `no_tasks`. */
export async function pickTasks(config: CommonConfig, reader: TaskReader, most: number): Promise<ProbedTasks> {
  const { totalTrainingSteps, seed } = config.trainerCommon;
  const needed = (totalTrainingSteps ?? 0) * config.data.trainBatchSize;
  const table = await openTrainingTable(reader, totalTrainingSteps === null ? null : needed);
  if (table.size === 0) throw noTrainingTasks();
  const size = table.size ?? Math.max(firstOfMany, needed);
  const probeSeed = deriveSeed(seed, 'probe');
  const indices = [...pickIndices(size, most, probeSeed)];
  const random = createRandom(probeSeed);
  const order = indices.map((index) => ({ index, rank: random.next() })).sort((a, b) => a.rank - b.rank);
  const tasks = await readTasks(
    order.map(({ index }) => index),
    (index) => table.taskAt(index),
  );
  return { tasks, available: table.size };
}

/**
 * Reads the tasks at these indices. Indices past the end of a source of unknown size are ignored. Throws if no task can
 * be read.
 */
async function readTasks(
  indices: readonly number[],
  taskAt: (index: number) => Promise<Task>,
): Promise<readonly Task[]> {
  const read = await Promise.allSettled(indices.map(taskAt));
  const tasks = read.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : []));
  const failure = read.find((each) => each.status === 'rejected');
  if (tasks.length === 0 && failure !== undefined) throw failure.reason;
  return tasks;
}
