import { appendFile, readFile } from 'node:fs/promises';
import path from 'node:path';
import { ConfigError, isJsonObject, makeFolders, parseJsonObject, TaskError, type Task, sha256 } from '@agentjet/core';
import type { DroppedTasks, TaskTable } from '@agentjet/rollout';

/**
 * If the model always or never solves a task, the rewards of the group are equal, and there is no gradient. A probe
 * finds such tasks before training. It keeps its results line by line in a file, so an interrupted probe resumes from
 * them.
 */

/** The number of scored episodes of a task, and how many of them succeeded. */
export type ProbeOutcome = { readonly episodes: number; readonly solved: number };

export type DifficultyOptions = {
  /** The number of episodes of each task. */
  readonly samples: number;
  /** A task is kept if its share of solved episodes is above this one. Null means no lower limit. */
  readonly solvedAbove: number | null;
  /** A task is kept if its share of solved episodes is below this one. Null means no upper limit. */
  readonly solvedBelow: number | null;
  readonly cacheFile: string;
  /**
   * Identifies everything except the task that an outcome depends on: the model, the agent, the judge, and the
   * sampling.
   */
  readonly shapedBy: unknown;
  /** Outcomes in the order of the tasks. */
  readonly probe: (tasks: readonly Task[]) => Promise<readonly ProbeOutcome[]>;
  /** The number of tasks that are probed at the same time. */
  readonly chunk: number;
  readonly onProgress: (done: number, total: number) => void;
};

export type Selected = { readonly table: TaskTable; readonly dropped: readonly DroppedTasks[] };

const numExamples = 5;

/** Selects the tasks within the limits, in their order. A task that could not be scored often enough is kept. */
export async function selectByDifficulty(table: TaskTable, options: DifficultyOptions): Promise<Selected> {
  const { size } = table;
  if (size === null)
    throw new ConfigError(
      'conflict',
      'task_reader.difficulty.samples is set, but the number of tasks is unknown. Set it to 0, or give tasks that end.',
    );
  const shares = await probeAll(table, size, options);
  const reasonOf = (index: number): string | undefined => findReason(shares[index], options);
  const kept = Array.from({ length: size }, (_, index) => index).filter((index) => reasonOf(index) === undefined);
  if (kept.length === 0)
    throw new TaskError(
      'no_tasks',
      `None of ${size} tasks is left: the model solves each of them too often or too seldom. Widen task_reader.difficulty, or choose other tasks.`,
    );
  return {
    table: { size: kept.length, source: table.source, taskAt: async (at) => table.taskAt(kept[at] ?? size) },
    dropped: await describeDropped(table, size, reasonOf),
  };
}

/** Returns the share of solved episodes of each task, or undefined if it is unknown. */
async function probeAll(
  table: TaskTable,
  size: number,
  options: DifficultyOptions,
): Promise<readonly (number | undefined)[]> {
  const known = await readOutcomes(options.cacheFile);
  const shares = Array.from<number | undefined>({ length: size });
  const pending: number[] = [];
  for (let index = 0; index < size; index++) {
    const outcome = known.get(keyOf(await table.taskAt(index), options));
    if (outcome === undefined) pending.push(index);
    else shares[index] = outcome.solved / outcome.episodes;
  }
  for (let from = 0; from < pending.length; from += options.chunk) {
    options.onProgress(size - pending.length + from, size);
    const indices = pending.slice(from, from + options.chunk);
    const tasks = await Promise.all(indices.map((index) => table.taskAt(index)));
    const outcomes = await options.probe(tasks);
    for (const [at, index] of indices.entries()) {
      const [task, outcome] = [tasks[at], outcomes[at]];
      if (task === undefined || outcome === undefined || outcome.episodes < options.samples) continue;
      await keepOutcome(options.cacheFile, keyOf(task, options), outcome, task);
      shares[index] = outcome.solved / outcome.episodes;
    }
  }
  return shares;
}

function findReason(
  share: number | undefined,
  { solvedAbove, solvedBelow, samples }: DifficultyOptions,
): string | undefined {
  if (share === undefined) return undefined;
  if (solvedAbove !== null && share <= solvedAbove)
    return `too hard: the model solves at most ${solvedAbove} of its ${samples} episodes`;
  if (solvedBelow !== null && share >= solvedBelow)
    return `too easy: the model solves at least ${solvedBelow} of its ${samples} episodes`;
  return undefined;
}

async function describeDropped(
  table: TaskTable,
  size: number,
  reasonOf: (index: number) => string | undefined,
): Promise<readonly DroppedTasks[]> {
  const found = new Map<string, { count: number; readonly examples: string[] }>();
  for (let index = 0; index < size; index++) {
    const reason = reasonOf(index);
    if (reason === undefined) continue;
    const group = found.get(reason) ?? { count: 0, examples: [] };
    group.count++;
    if (group.examples.length < numExamples) group.examples.push((await table.taskAt(index)).taskId);
    found.set(reason, group);
  }
  return [...found].map(([reason, { count, examples }]) => ({ reason, count, examples }));
}

function keyOf(task: Task, { shapedBy, samples }: DifficultyOptions): string {
  return sha256(JSON.stringify([shapedBy, samples, task]));
}

async function keepOutcome(file: string, key: string, outcome: ProbeOutcome, { taskId }: Task): Promise<void> {
  makeFolders(path.dirname(file));
  await appendFile(file, `${JSON.stringify({ key, task_id: taskId, ...outcome })}\n`);
}

/** Lines that are not outcomes are ignored, such as a line that was cut when the process was killed. */
async function readOutcomes(file: string): Promise<ReadonlyMap<string, ProbeOutcome>> {
  const text = await readFile(file, 'utf8').catch(() => '');
  if (text !== '' && !text.endsWith('\n')) await appendFile(file, '\n');
  return new Map(
    text.split('\n').flatMap((line) => {
      const value: unknown = parseJsonObject(line);
      if (!isJsonObject(value)) return [];
      const { key, episodes, solved } = value;
      const isOutcome = typeof key === 'string' && typeof episodes === 'number' && typeof solved === 'number';
      return isOutcome && episodes > 0 ? [[key, { episodes, solved }] as const] : [];
    }),
  );
}
