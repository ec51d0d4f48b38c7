import { readFile } from 'node:fs/promises';
import path from 'node:path';
import type { Task, Verdict } from '@agentjet/core';
import {
  createHarborReader,
  openHarbor,
  resolveVariables,
  readHarborTask,
  type HarborOptions,
} from '@agentjet/environments/harbor';
import type { Environment, Session } from '@agentjet/rollout';
import { boxEngines, findBoxEngine } from '@agentjet/sandbox/boxes';

/** Plays tasks of this folder without a model: by their solution, by doing nothing, or by commands. */

export const tasksFolder = path.join(import.meta.dirname, 'tasks');

export async function readTasks(folder = tasksFolder): Promise<readonly Task[]> {
  const reader = createHarborReader({
    training: folder,
    validation: null,
    unsupported: 'error',
    onNotice: () => undefined,
  });
  const tasks: Task[] = [];
  for await (const task of reader.trainingTasks()) tasks.push(task);
  return tasks;
}

export function openBench(options: Partial<HarborOptions> = {}): Environment {
  const engine = findBoxEngine(boxEngines);
  if (typeof engine === 'string') throw new Error(`This benchmark needs podman or docker: ${engine}.`);
  return openHarbor({
    engine,
    requireSeparateVerifier: false,
    guardSharedVerifier: true,
    countModelTime: false,
    commandSeconds: 60,
    outputCharacters: 20_000,
    lifeSeconds: 600,
    onNotice: () => undefined,
    ...options,
  });
}

export type Play = (session: Session, task: Task) => Promise<void>;

export const doNothing: Play = async () => undefined;

/** Runs the solution of each step as a command of the agent. */
export const solve: Play = async (session, task) => {
  const { folder } = task.metadata['harbor'] as { readonly folder: string };
  const { solutionEnv, steps } = await readHarborTask(folder);
  const variables = Object.entries(resolveVariables(solutionEnv)).map(([name, value]) => `export ${name}='${value}'; `);
  for (const { solution } of steps) {
    const script = await readFile(path.join(folder, solution, 'solve.sh'), 'utf8');
    await run(variables.join('') + script)(session, task);
    if ((await session.step?.(''))?.isDone !== false) return;
  }
};

/** Runs one command, and leaves its result to the verifier. */
export const run =
  (command: string): Play =>
  async (session) => {
    await session.call?.('bash', { command });
  };

let episodes = 0;

/** Opens a session, plays, and returns the verdict. */
export async function playTask(environment: Environment, task: Task, play: Play): Promise<Verdict> {
  const signal = new AbortController().signal;
  const session = await environment.open(task, { seed: 1, signal, episodeId: `bench-${++episodes}` });
  try {
    await play(session, task);
    const verdict = await session.evaluate?.();
    if (verdict === undefined) throw new Error('The session gave no verdict.');
    return verdict;
  } finally {
    await session.close();
  }
}
