import { readdir, realpath } from 'node:fs/promises';
import path from 'node:path';
import { TaskError, type Task } from '@agentjet/core';
import type { SideCard, TaskReader } from '@agentjet/rollout/inputs';
import type { HarborTask } from './read-task.js';

export type HarborReaderOptions = {
  readonly training: string | null;
  readonly validation: string | null;
  readonly unsupported: 'error' | 'leave_out';
  readonly onNotice: (message: string) => void;
};

type Side = { readonly tasks: readonly Task[]; readonly card: SideCard };

/** Reads both sides once, when they are first needed. Every task is checked then. */
export function createHarborReader({ training, validation, ...options }: HarborReaderOptions): TaskReader {
  const sides = {
    training: once(() => readSide(training, options)),
    validation: once(() => readSide(validation, options)),
  };
  return {
    trainingTasks: () => tasksOf(sides.training),
    evaluationTasks: () => tasksOf(sides.validation),
    describe: async () => ({
      training: (await sides.training()).card,
      evaluation: (await sides.validation()).card,
    }),
  };
}

const once = <T>(make: () => Promise<T>): (() => Promise<T>) => {
  let made: Promise<T> | undefined;
  return () => (made ??= make());
};

async function* tasksOf(side: () => Promise<Side>): AsyncGenerator<Task> {
  yield* (await side()).tasks;
}

async function readSide(
  root: string | null,
  { unsupported, onNotice }: Pick<HarborReaderOptions, 'unsupported' | 'onNotice'>,
): Promise<Side> {
  if (root === null) return { tasks: [], card: { tasks: 0, sources: [], dropped: [] } };
  const { readHarborTask } = await import('./read-task.js');
  const tasks: Task[] = [];
  const refused: string[] = [];
  for (const found of await findTasks(await realpath(root).catch(() => missing(root)))) {
    try {
      tasks.push(toTask(found.id, await readHarborTask(found.folder)));
    } catch (error) {
      if (!(error instanceof TaskError) || unsupported === 'error') throw error;
      refused.push(error.message);
    }
  }
  if (refused.length > 0)
    onNotice(
      `${refused.length} of ${refused.length + tasks.length} tasks of ${root} are left out. The first: ${refused[0]}`,
    );
  const dropped =
    refused.length === 0 ? [] : [{ reason: 'cannot be run', count: refused.length, examples: refused.slice(0, 3) }];
  const sources = [{ kind: 'harbor', location: root, revision: null, sha256: null }];
  return { tasks, card: { tasks: tasks.length, sources, dropped } };
}

function missing(root: string): never {
  throw new TaskError('missing_file', `The folder ${root} does not exist. Check task_reader.harbor.`);
}

/** A task is at most this many folders below the given one. */
const mostDepth = 4;

async function findTasks(root: string): Promise<readonly { readonly id: string; readonly folder: string }[]> {
  const found: { id: string; folder: string }[] = [];
  const visit = async (folder: string, depth: number): Promise<void> => {
    const entries = await readdir(folder, { withFileTypes: true });
    if (entries.some((entry) => entry.name === 'task.toml' && !entry.isDirectory())) {
      const id = path.relative(root, folder).split(path.sep).join('/') || path.basename(root);
      found.push({ id, folder });
      return;
    }
    if (depth === mostDepth) return;
    for (const entry of entries.filter((each) => each.isDirectory() && !each.name.startsWith('.')).sort(byName))
      await visit(path.join(folder, entry.name), depth + 1);
  };
  await visit(root, 0);
  if (found.length > 0) return found;
  throw new TaskError(
    'missing_file',
    `${root} has no task: no folder in it has a task.toml. Check task_reader.harbor.`,
  );
}

const byName = (left: { readonly name: string }, right: { readonly name: string }): number =>
  left.name < right.name ? -1 : 1;

/** The task as the workflow sees it. Tests and solution are not part of it. */
function toTask(taskId: string, task: HarborTask): Task {
  const { folder, digest, name, metadata, steps } = task;
  const [{ name: stepName, instruction, agent, verifier }] = steps;
  return {
    taskId,
    mainQuery: instruction,
    initMessages: [],
    metadata: {
      ...metadata,
      harbor: {
        name,
        folder,
        digest,
        agent: { timeout_sec: agent.seconds, user: agent.user ?? null },
        ...(stepName !== null && { steps: steps.map((step) => step.name) }),
        verifier: { mode: verifier.machine === null ? 'shared' : 'separate', timeout_sec: verifier.seconds },
      },
    },
  };
}
