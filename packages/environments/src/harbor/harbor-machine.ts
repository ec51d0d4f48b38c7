import { setTimeout as sleep } from 'node:timers/promises';
import { EnvironmentOutage, rejectOnAbort, toErrorMessage } from '@agentjet/core';
import { SandboxError } from '@agentjet/sandbox';
import { openBox, packFolder, prepareImage, type Box, type BoxHost, type ExecResult } from '@agentjet/sandbox/boxes';
import { boxNetworkOf, enterNetwork } from './phase-network.js';
import type { HarborNetwork, MachineSpec } from './read-machine.js';
import type { HarborTask } from './read-task.js';
import { resolveVariables } from './variables.js';

/** A machine of a task: its image is prepared, it is running, it has the folders for logs, and it is healthy. */
export type HarborMachine = {
  readonly box: Box;
  /** The shell for the agent's commands. */
  readonly shell: 'bash' | 'sh';
  readonly workdir: string;
  /** True if the image itself has a folder `/tests`. */
  readonly hadTests: boolean;
};

export type OpenMachineOptions = {
  readonly task: HarborTask;
  readonly episodeId: string;
  /** The networks of all phases. */
  readonly networks: readonly HarborNetwork[];
  readonly lifeSeconds: number;
  readonly signal: AbortSignal;
};

const logFolders = ['/logs/agent', '/logs/verifier', '/logs/artifacts'] as const;

/** Time that the engine may take in addition to the limits of the task. */
export const engineSeconds = 240;

export async function openMachine(
  engine: BoxHost,
  spec: MachineSpec,
  options: OpenMachineOptions,
): Promise<HarborMachine> {
  const { task, episodeId, networks, lifeSeconds, signal } = options;
  const image = await imageOf(engine, spec, { task, signal });
  const box = await asOutage(engine.name, () =>
    openBox(engine, {
      image,
      labels: { 'org.agentjet.episode': episodeId, 'org.agentjet.task': task.name },
      env: resolveVariables(spec.env),
      cpus: spec.cpus,
      memoryMegabytes: spec.memoryMegabytes,
      networks: networks.map(boxNetworkOf),
      lifeSeconds,
      startSeconds: spec.buildSeconds,
      signal,
    }),
  );
  try {
    return await setUp(engine, box, { spec, task, signal });
  } catch (error) {
    await box.remove().catch(() => undefined);
    throw error;
  }
}

async function imageOf(
  engine: BoxHost,
  { build, image, buildSeconds }: MachineSpec,
  { task, signal }: { readonly task: HarborTask; readonly signal: AbortSignal },
): Promise<string> {
  const source =
    build === null
      ? ({ kind: 'named', image: image ?? '' } as const)
      : ({ kind: 'built', context: build.folder, digest: build.digest } as const);
  const work = prepareImage(engine, source, buildSeconds);
  return asOutage(harborHostOf(task), () => rejectOnAbort(work, signal), `The image of task ${task.name} is missing. `);
}

/** The host of outages that one task causes, so that they do not look like a failure of the engine. */
export const harborHostOf = ({ name }: HarborTask): string => `Harbor task ${name}`;

async function setUp(
  engine: BoxHost,
  box: Box,
  { spec, task, signal }: { readonly spec: MachineSpec; readonly task: HarborTask; readonly signal: AbortSignal },
): Promise<HarborMachine> {
  const script = [
    `mkdir -p ${logFolders.join(' ')} && chmod 777 ${logFolders.join(' ')}`,
    spec.workdir === undefined ? 'pwd' : `mkdir -p ${quote(spec.workdir)} && cd ${quote(spec.workdir)} && pwd`,
    'if command -v bash >/dev/null; then echo bash; else echo sh; fi',
    'if [ -e /tests ]; then echo yes; else echo no; fi',
  ].join(' && ');
  const result = await asRoot(box, script, { host: engine.name, signal });
  const [workdir, shell, tests] = result.output.trim().split('\n').slice(-3);
  if (result.status !== 0 || workdir === undefined || (shell !== 'bash' && shell !== 'sh'))
    throw new EnvironmentOutage(`The box of task ${task.name} cannot be set up: ${lastLineOf(result)}`, {
      host: harborHostOf(task),
    });
  if (spec.copiesFiles)
    await asOutage(engine.name, () => box.copyIn(packFolder(`${task.folder}/environment`, '.'), workdir));
  const machine: HarborMachine = { box, shell, workdir, hadTests: tests === 'yes' };
  const network = await asOutage(engine.name, () => enterNetwork(box, spec.network, task.name));
  try {
    const { healthcheck } = spec;
    await waitUntilHealthy(machine, { healthcheck, user: undefined, env: network.env, task, engine, signal });
  } finally {
    network.close();
  }
  return machine;
}

/** Runs a command of ours as root. */
export async function asRoot(
  box: Box,
  script: string,
  { host, signal }: { readonly host: string; readonly signal: AbortSignal },
): Promise<ExecResult> {
  const command = ['/bin/sh', '-c', script];
  return asOutage(host, () => box.exec(command, { user: 0, seconds: engineSeconds, outputCharacters: 4000, signal }));
}

/** Quotes a string for a shell. */
export const quote = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;

export const lastLineOf = ({ output, status, isOutOfTime }: ExecResult): string =>
  output.trim().split('\n').at(-1) || (isOutOfTime ? 'it did not end' : `exit code ${status}`);

/** Repeats a healthcheck until it passes. Does nothing if there is none. */
export async function waitUntilHealthy(
  { box, workdir }: HarborMachine,
  {
    healthcheck,
    user,
    env,
    task,
    engine,
    signal,
  }: {
    readonly healthcheck: MachineSpec['healthcheck'];
    readonly user: string | number | undefined;
    readonly env: Readonly<Record<string, string>>;
    readonly task: HarborTask;
    readonly engine: BoxHost;
    readonly signal: AbortSignal;
  },
): Promise<void> {
  if (healthcheck === undefined || healthcheck === null) return;
  const { command, interval_sec, timeout_sec, start_period_sec, start_interval_sec, retries } = healthcheck;
  const started = performance.now();
  for (let failures = 0; ; ) {
    const isStarting = performance.now() - started < start_period_sec * 1000;
    const result = await asOutage(engine.name, () =>
      box.exec(['sh', '-c', command], {
        user,
        env,
        cwd: workdir,
        seconds: timeout_sec,
        outputCharacters: 1000,
        signal,
      }),
    );
    if (result.status === 0) return;
    if (!isStarting) failures++;
    if (failures >= retries)
      throw new EnvironmentOutage(
        `The healthcheck of task ${task.name} failed ${failures} times: ${command} (${lastLineOf(result)})`,
        { host: harborHostOf(task) },
      );
    await sleep((isStarting ? start_interval_sec : interval_sec) * 1000, undefined, { signal });
  }
}

/** Turns a failure of the engine into an outage. Other errors pass. */
export async function asOutage<T>(host: string, work: () => Promise<T>, prefix = ''): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof SandboxError)) throw error;
    throw new EnvironmentOutage(`${prefix}${toErrorMessage(error)}`, { host, cause: error });
  }
}

/** The longest time in which the machine can be opened. */
export function openSecondsOf({ buildSeconds, healthcheck }: MachineSpec): number {
  return buildSeconds + healthSecondsOf(healthcheck) + engineSeconds;
}

/** The longest time that a healthcheck may take. */
export function healthSecondsOf(healthcheck: MachineSpec['healthcheck']): number {
  const { start_period_sec = 0, retries = 0, interval_sec = 0, timeout_sec = 0 } = healthcheck ?? {};
  return start_period_sec + retries * (interval_sec + timeout_sec);
}
