import { EnvironmentOutage } from '@agentjet/core';
import { openBox, openContainer, packFolder, type Box, type BoxHost } from '@agentjet/sandbox/boxes';
import {
  asOutage,
  asRoot,
  boxOptionsOf,
  engineSeconds,
  harborHostOf,
  lastLineOf,
  type OpenMachineOptions,
} from './box-work.js';
import { openServices, serviceSecondsOf, type Services } from './compose/open-services.js';
import { logFolders } from './log-folders.js';
import { enterNetwork } from './phase-network.js';
import { prepareTaskImage } from './prepare-task-image.js';
import { quote } from './quote.js';
import type { MachineSpec } from './read-machine.js';
import type { HarborTask } from './read-task.js';
import { resolveVariables } from './variables.js';
import { healthSecondsOf, waitUntilHealthy } from './wait-until-healthy.js';

/** A machine of a task: its image is prepared, it is running, it has the folders for logs, and it is healthy. */
export type HarborMachine = {
  readonly box: Box;
  /** The shell for the agent's commands. */
  readonly shell: 'bash' | 'sh';
  readonly workdir: string;
  /** True if the image itself has a folder `/tests`. */
  readonly hadTests: boolean;
  /** The machines next to this one. Null: there are none. */
  readonly services: Services | null;
  /** The names of all machines on the common network. */
  readonly names: readonly string[];
};

export async function openMachine(
  engine: BoxHost,
  spec: MachineSpec,
  options: OpenMachineOptions,
): Promise<HarborMachine> {
  const { task, signal } = options;
  const image = await prepareTaskImage(engine, spec, { ...spec, task, signal });
  const services = spec.compose === null ? null : await openServices(engine, spec, { ...options, image });
  let box: Box | undefined;
  try {
    box = await asOutage(engine.name, () => openMain(engine, spec, { ...options, image, services }));
    const machine = await setUp(engine, box, { spec, services, task, signal });
    await services?.requireRunning();
    await services?.keepNames();
    return machine;
  } catch (error) {
    await box?.remove().catch(() => undefined);
    await services?.remove().catch(() => undefined);
    throw error;
  }
}

type MainOptions = OpenMachineOptions & { readonly image: string; readonly services: Services | null };

function openMain(
  engine: BoxHost,
  { compose, env, cpus, memoryMegabytes, buildSeconds }: MachineSpec,
  { image, services, ...place }: MainOptions,
): Promise<Box> {
  const options = {
    ...boxOptionsOf(place),
    image,
    env: { ...compose?.main.env, ...resolveVariables(env) },
    cpus,
    memoryMegabytes,
    startSeconds: buildSeconds,
  };
  if (compose === null || services === null) return openBox(engine, options);
  const { program, user, workdir, volumes } = compose.main;
  const { networkOf, engine: container } = services;
  return openContainer(container, {
    ...options,
    networkOf,
    program,
    user,
    workdir,
    volumes: services.volumesOf(volumes),
  });
}

/** Removes everything of a machine. */
export async function removeMachine({ box, services }: HarborMachine): Promise<void> {
  await box.remove();
  await services?.remove();
}

async function setUp(
  engine: BoxHost,
  box: Box,
  {
    spec,
    services,
    task,
    signal,
  }: {
    readonly spec: MachineSpec;
    readonly services: Services | null;
    readonly task: HarborTask;
    readonly signal: AbortSignal;
  },
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
  const names = spec.compose?.names ?? [];
  const machine: HarborMachine = { box, shell, workdir, hadTests: tests === 'yes', services, names };
  const network = await asOutage(engine.name, () => enterNetwork(machine, spec.network, task.name));
  try {
    const subject = `task ${task.name}`;
    for (const healthcheck of [spec.compose?.main.healthcheck, spec.healthcheck])
      await waitUntilHealthy(machine, {
        healthcheck,
        user: undefined,
        env: network.env,
        subject,
        task,
        engine,
        signal,
      });
  } finally {
    network.close();
  }
  return machine;
}

/** The longest time in which the machine can be opened. */
export function openSecondsOf(spec: MachineSpec): number {
  const { buildSeconds, healthcheck, compose } = spec;
  return buildSeconds + healthSecondsOf(healthcheck) + engineSeconds + (compose === null ? 0 : serviceSecondsOf(spec));
}
