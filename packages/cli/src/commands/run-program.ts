import { accessSync, constants, existsSync, readFileSync, statSync } from 'node:fs';
import path from 'node:path';
import { ConfigError, parseJsonObject, quoteForShell } from '@agentjet/core';
import { revisionOf } from '@agentjet/job';
import {
  createInsideWorkflow,
  createProgramWorkflow,
  programsEnded,
  routeModels,
  SwarmClient,
  type ModelRoute,
  type SwarmRunOptions,
} from '@agentjet/swarm-client';
import type { LogEntry } from '@agentjet/swarm-server';
import type { TaskInput } from 'agentjet';
import { runInterruptibly } from '../interrupt.js';
import { createLog } from '../log-lines.js';
import { createOutput } from '../output.js';
import type { SwarmRunFlags } from '../swarm-program.js';
import { describeRun, endpointOf, loadConfig, loadRun, toParallel } from './run-swarm.js';
import { toNumber } from './read-flags.js';
import { takeSwarmKey } from './swarm-key.js';
import { SwarmPrinter } from './swarm-printer.js';

/**
 * `ajet swarm run ... -- <program>` runs the program once per episode, until its tasks are done or a signal arrives.
 * With `--conf`, the judge of a YAML file scores the episodes, and its tasks are run unless other tasks are named.
 */
export async function runProgram(
  flags: SwarmRunFlags,
  [command = '', ...args]: readonly string[],
  overrides: readonly string[] = [],
): Promise<number> {
  const output = createOutput(flags);
  let log = createLog(flags);
  const say = (message: string, more?: Partial<LogEntry>): void => log({ level: 'info', message, ...more });
  const key = takeSwarmKey(flags, say);
  if (flags.inside === true) requireInside(flags);
  else requireProgram(command);
  requireFolder(flags.folder);
  const routes = await readRoutes(flags);
  const tasks = readTasks(flags);
  const configured = await readConfigured(flags, overrides, tasks);
  return runInterruptibly(
    () => say('Stopping: running programs are ended, and their episodes given back.'),
    async (signal) => {
      const { server, client: name, share, revision = configured.revision } = flags;
      const client = new SwarmClient({
        url: server,
        key,
        revision,
        ...(name !== undefined && { client: name }),
        ...(share !== undefined && { share }),
      });
      log = createLog(flags, { client: client.client });
      const { folder, agent: agentName } = flags;
      const reward = configured.options.judge === undefined ? flags.reward : false;
      const options: SwarmRunOptions = {
        ...configured.options,
        ...endpointOf(flags),
        parallel: toParallel(flags.parallel ?? '1'),
        timeoutSeconds: toNumber(flags.timeout ?? '1800', '--timeout', { least: 0.001 }),
        portable: flags.portable !== false,
        replaceTasks: flags.replaceTasks === true,
        ...(routes.length > 0 && { wrapModel: routeModels(routes) }),
        ...(tasks !== undefined && { tasks }),
      };
      const printer = new SwarmPrinter(say);
      say(
        `Running ${[command, ...args].map((word) => quoteForShell(word)).join(' ')} for ${server} as ${client.client}`,
      );
      const protocol = flags.acp === true ? 'acp' : undefined;
      const workflow =
        flags.inside === true
          ? createInsideWorkflow({ command, args, agentName })
          : createProgramWorkflow({ command: locate(command), args, reward, folder, agentName, protocol });
      const result = await runToTheEnd(client, workflow, { ...options, signal, onEvent: printer.onEvent });
      printer.flush();
      say(describeRun(result));
      output.writeJson({ ...result, client: client.client, revision });
      return 0;
    },
  );
}

/** Kills programs that ignore the request to end, before this process ends. */
async function runToTheEnd(
  client: SwarmClient,
  ...work: Parameters<SwarmClient['run']>
): ReturnType<SwarmClient['run']> {
  try {
    return await client.run(...work);
  } finally {
    await programsEnded();
  }
}

type Configured = {
  readonly revision: string;
  readonly options: Pick<SwarmRunOptions, 'judge' | 'tasks' | 'evaluationTasks' | EnvironmentOption>;
};

type EnvironmentOption = 'environment' | 'maxSessions' | 'openTimeoutSeconds' | 'callTimeoutSeconds';

/** Reads the judge of a YAML file, and its tasks (including those for evaluation) if no other tasks are named. */
async function readConfigured(
  flags: SwarmRunFlags,
  overrides: readonly string[],
  tasks: readonly TaskInput[] | undefined,
): Promise<Configured> {
  if (flags.conf === undefined) return { revision: '', options: {} };
  const config = loadConfig(flags, overrides);
  const { options } = await loadRun(config, flags, {
    workflow: async () => ({}), // the program replaces the workflow
    ...(tasks !== undefined && { reader: { trainingTasks: () => tasks, evaluationTasks: () => [] } }),
  });
  const { judge } = options;
  if (judge !== undefined && flags.reward !== undefined)
    throw new ConfigError(
      'wrong_value',
      `${flags.conf} has a judge, and --reward sets another reward. Leave one of them out.`,
    );
  if (judge === undefined && flags.reward === undefined)
    throw new ConfigError(
      'wrong_value',
      `${flags.conf} has no judge (task_judge), so it cannot score a program. Leave out --conf, or set --reward.`,
    );
  const { evaluationTasks, environment, maxSessions, openTimeoutSeconds, callTimeoutSeconds } = options;
  if (flags.inside === true && environment === undefined)
    throw new ConfigError(
      'no_environment',
      `--inside runs the program in the environment of its task, and ${flags.conf} has none. Set environment.protocol: harbor.`,
    );
  const limits = {
    ...(maxSessions !== undefined && { maxSessions }),
    ...(openTimeoutSeconds !== undefined && { openTimeoutSeconds }),
    ...(callTimeoutSeconds !== undefined && { callTimeoutSeconds }),
  };
  return {
    revision: revisionOf(config),
    options: {
      judge,
      environment,
      ...limits,
      ...(options.tasks !== undefined && { tasks: options.tasks }),
      ...(tasks === undefined && evaluationTasks !== undefined && { evaluationTasks }),
    },
  };
}

/** Throws ConfigError for flags that have no meaning for a program inside of an environment. */
function requireInside({ conf, folder, reward, acp }: SwarmRunFlags): void {
  if (acp === true)
    throw new ConfigError(
      'wrong_value',
      '--acp and --inside exclude each other: an agent of the Agent Client Protocol runs on this machine.',
    );
  if (conf === undefined)
    throw new ConfigError(
      'no_conf',
      '--inside needs --conf <file.yaml>, with the tasks, the environment and the judge.',
    );
  const other = folder === undefined ? (reward === undefined ? undefined : '--reward') : '--folder';
  if (other === undefined) return;
  throw new ConfigError(
    'wrong_value',
    `--inside and ${other} exclude each other: the environment has the files, and the judge gives the reward.`,
  );
}

/** A path is relative to the shell's folder, even if the program runs in another one. */
const locate = (command: string): string => (/[/\\]/.test(command) ? path.resolve(command) : command);

/** Checks the program once at the start instead of in each episode. */
function requireProgram(command: string): void {
  const isThere = (file: string): boolean => {
    try {
      accessSync(file, constants.X_OK);
      return true;
    } catch {
      return false;
    }
  };
  const folders = (process.env['PATH'] ?? '').split(path.delimiter);
  const endings = process.platform === 'win32' ? ['.exe', '.cmd', ''] : [''];
  const places = /[/\\]/.test(command) ? [path.resolve(command)] : folders.map((folder) => path.join(folder, command));
  if (places.some((place) => endings.some((ending) => isThere(place + ending)))) return;
  throw new ConfigError(
    'no_program',
    `"${command}" cannot be run: it does not exist or is not executable. Name one after "--", such as -- ./agent.sh.`,
  );
}

/**
 * Checks the folder at the start. Otherwise every episode would fail because of a missing folder, as if the agent had
 * failed.
 */
function requireFolder(folder: string | undefined): void {
  if (folder === undefined || statSync(folder, { throwIfNoEntry: false })?.isDirectory() === true) return;
  throw new ConfigError('no_folder', `--folder is ${JSON.stringify(folder)}, which is not a folder. Correct the path.`);
}

/**
 * Reads a file with one task per line, or a file with a single task. Undefined means the tasks that other clients have
 * sent to the server.
 */
function readTasks({ tasks, task }: SwarmRunFlags): readonly TaskInput[] | undefined {
  const file = tasks ?? task;
  if (tasks !== undefined && task !== undefined)
    throw new ConfigError(
      'wrong_value',
      'Set either --tasks, a file with one task per line, or --task, a file with one task, but not both.',
    );
  if (file === undefined) return undefined;
  if (!existsSync(file)) throw new ConfigError('no_tasks', `There is no file ${file}.`);
  const text = readFileSync(file, 'utf8');
  const lines = task === undefined ? text.split('\n').filter((line) => line.trim() !== '') : [text];
  return lines.map((line, index) => toTask(line, `${file}${task === undefined ? `, line ${index + 1}` : ''}`));
}

function toTask(text: string, where: string): TaskInput {
  const row = parseRow(text, where);
  const { task_id: taskId, main_query: mainQuery, metadata } = row;
  if (typeof taskId !== 'string' || typeof mainQuery !== 'string')
    throw new ConfigError(
      'bad_task',
      `${where} needs "task_id" and "main_query", two strings. Got ${text.slice(0, 120)}.`,
    );
  return {
    taskId,
    mainQuery,
    ...(metadata !== undefined && { metadata: metadata as Readonly<Record<string, unknown>> }),
  };
}

function parseRow(text: string, where: string): Readonly<Record<string, unknown>> {
  const row = parseJsonObject(text);
  if (row !== undefined) return row;
  throw new ConfigError('bad_task', `${where} is not a JSON object: ${text.slice(0, 120)}`);
}

/** Reads `--untrained '*haiku*'`, and `--debug-model '*mini*=gpt-4o-mini'` at AJET_DEBUG_BASE_URL. */
async function readRoutes({ untrained = [], debugModel = [] }: SwarmRunFlags): Promise<readonly ModelRoute[]> {
  const others = await Promise.all(
    debugModel.map(async (text) => {
      const [, pattern, model] = /^([^=]+)=(.+)$/.exec(text) ?? [];
      const baseUrl = process.env['AJET_DEBUG_BASE_URL'];
      if (pattern === undefined || model === undefined || baseUrl === undefined)
        throw new ConfigError(
          'wrong_value',
          `--debug-model is ${JSON.stringify(text)}; write a pattern and a model, such as '*mini*=gpt-4o-mini', and set AJET_DEBUG_BASE_URL to the address of that model (and AJET_DEBUG_API_KEY to its key).`,
        );
      const key = { value: process.env['AJET_DEBUG_API_KEY'], name: 'AJET_DEBUG_API_KEY' };
      const { createChatModel } = await import('@agentjet/model-client');
      return { pattern, model: createChatModel({ baseUrl, key, name: model }) };
    }),
  );
  return [...others, ...untrained.map((pattern) => ({ pattern }))];
}
