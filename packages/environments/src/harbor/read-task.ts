import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { isJsonObject, TaskError, toErrorMessage } from '@agentjet/core';
import type { ToolServer } from '@agentjet/rollout/inputs';
import { parse } from 'smol-toml';
import { machineOf, type MachineSpec } from './read-machine.js';
import type { Refuse } from './refuse.js';
import { readSteps, type HarborStep } from './read-steps.js';
import { checkReachable, readToolServers } from './read-tool-servers.js';
import { refuseLinks, digestOf } from './task-files.js';
import { taskFileSchema, type TaskToml } from './task-schema.js';
import { missingVariables } from './variables.js';

/** A folder of Harbor's format, read and checked. What cannot be honoured is refused here, by name. */

export type HarborTask = {
  readonly folder: string;
  /** `[task] name`, or the name of the folder. */
  readonly name: string;
  /** Identifies the content of all files of the task. */
  readonly digest: string;
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly machine: MachineSpec;
  readonly skillsFolder: string | undefined;
  /** Servers of the Model Context Protocol, with the variables of their headers not yet filled in. */
  readonly toolServers: readonly ToolServer[];
  /** All steps work in one machine. */
  readonly steps: readonly [HarborStep, ...HarborStep[]];
  /** How the rewards of several steps become one: their mean, or those of the last step. */
  readonly joining: 'mean' | 'final';
  readonly solutionEnv: Readonly<Record<string, string>>;
};

/** Reads a task. Throws TaskError, which names the task and the key, if the task is wrong or cannot be honoured. */
export async function readHarborTask(folder: string): Promise<HarborTask> {
  const toml = await readToml(folder);
  const name = toml.task?.name ?? path.basename(folder);
  const refuse = (what: string): never => {
    throw new TaskError('unsupported_task', `The Harbor task ${name} (${folder}) cannot be run: ${what}`);
  };
  checkSupported(toml, folder, refuse);
  for (const part of ['environment', 'tests', 'solution', 'steps'])
    if (existsSync(path.join(folder, part))) await refuseLinks(path.join(folder, part), folder);
  const machine = await machineOf(toml.environment, path.join(folder, 'environment'), refuse);
  const toolServers = readToolServers(toml.environment.mcp_servers, refuse);
  const readText = async (file: string): Promise<string> => withoutCanary(await readRequired(file));
  const steps = await readSteps({ toml, folder, machine, refuse, readText });
  checkReachable(toolServers, { steps, names: machine.compose?.names ?? [], refuse });
  return {
    folder,
    name,
    digest: await digestOf(folder),
    metadata: toml.metadata,
    machine,
    skillsFolder: toml.environment.skills_dir ?? undefined,
    toolServers,
    steps,
    joining: toml.multi_step_reward_strategy ?? 'mean',
    solutionEnv: toml.solution.env,
  };
}

async function readToml(folder: string): Promise<TaskToml> {
  const file = path.join(folder, 'task.toml');
  const text = await readRequired(file);
  let value: unknown;
  try {
    value = parse(text);
  } catch (error) {
    throw new TaskError('bad_task', `${file} is not TOML: ${toErrorMessage(error).split('\n')[0]}`, { cause: error });
  }
  const checked = taskFileSchema.safeParse(value);
  if (checked.success) return checked.data;
  const issue = checked.error.issues[0];
  const seen = JSON.stringify(valueAt(value, issue?.path ?? []));
  throw new TaskError('bad_task', `${file}: ${issue?.path.join('.')} is ${seen}. ${issue?.message}.`);
}

const valueAt = (value: unknown, keys: readonly PropertyKey[]): unknown =>
  keys.reduce<unknown>(
    (inner, key) => (isJsonObject(inner) || Array.isArray(inner) ? Reflect.get(inner, key) : undefined),
    value,
  );

async function readRequired(file: string): Promise<string> {
  return readFile(file, 'utf8').catch((error: unknown) => {
    throw new TaskError('bad_task', `${file} cannot be read: ${toErrorMessage(error)}`, { cause: error });
  });
}

function checkSupported(toml: TaskToml, folder: string, refuse: Refuse): void {
  for (const part of ['.', ...(toml.steps ?? []).map(({ name }) => `steps/${name}`)])
    if (existsSync(path.join(folder, part, 'trajectory.json')))
      refuse('it has an earlier conversation (trajectory.json), which agents cannot be given yet.');
  for (const [key, variables] of [
    ['verifier.env', toml.verifier.env],
    ...(toml.steps ?? []).map(({ name, verifier }) => [`verifier.env of step ${name}`, verifier.env] as const),
    ['environment.env', toml.environment.env],
  ] as const)
    for (const missing of missingVariables(variables))
      refuse(`${key} needs the environment variable ${missing}, which is not set.`);
}

/** Removes the lines at the top with which data sets mark their texts. Agents must not see them. */
export function withoutCanary(text: string): string {
  const lines = text.split('\n');
  const isMark = (line: string): boolean => /^(<!--.*canary.*-->|#.*canary.*)$/i.test(line.trim());
  const first = lines.findIndex((line) => !isMark(line));
  const rest = lines.slice(first === -1 ? lines.length : first);
  const begin = rest.findIndex((line) => line.trim() !== '');
  return rest.slice(begin === -1 ? rest.length : begin).join('\n');
}
