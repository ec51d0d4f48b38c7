import { existsSync } from 'node:fs';
import path from 'node:path';
import { normalizeHosts } from './allowed-hosts.js';
import { composeFile, readCompose, type Compose, type ImageSpec } from './compose/read-compose.js';
import type { Refuse } from './refuse.js';
import { digestOf } from './task-files.js';
import {
  megabytesOf,
  taskFileSchema,
  type EnvironmentToml,
  type NetworkToml,
  type VerifierToml,
} from './task-schema.js';

/** The machines that a task describes. What cannot be honoured is refused by name. */

/** `public`, `none`, or the only hosts that can be reached. */
export type HarborNetwork = 'public' | 'none' | readonly string[];

/** A machine as the task describes it. */
export type MachineSpec = ImageSpec & {
  /** The machines next to it. Null: there are none. */
  readonly compose: Compose | null;
  /** True if the files of `environment/` are copied to the working folder, because no Dockerfile does so. */
  readonly copiesFiles: boolean;
  readonly buildSeconds: number;
  readonly cpus: number | undefined;
  readonly memoryMegabytes: number | undefined;
  readonly storageMegabytes: number | undefined;
  readonly network: HarborNetwork;
  readonly env: Readonly<Record<string, string>>;
  readonly workdir: string | undefined;
  readonly healthcheck: EnvironmentToml['healthcheck'];
};

/** Reads the machine of `environment/`, or the image of a separate verifier. */
export async function machineOf(spec: EnvironmentToml, folder: string, refuse: Refuse): Promise<MachineSpec> {
  checkMachine(spec, folder, refuse);
  const compose = await readCompose(folder, spec.env, refuse);
  const hasDockerfile = existsSync(path.join(folder, 'Dockerfile'));
  const isImage = spec.docker_image != null;
  return {
    ...(isImage
      ? { build: null, image: spec.docker_image ?? null }
      : (compose?.main.image ?? (await built(folder, refuse)))),
    compose,
    copiesFiles: isImage && !hasDockerfile && compose === null && existsSync(folder),
    ...limitsOf(spec, refuse),
  };
}

async function built(folder: string, refuse: Refuse): Promise<ImageSpec> {
  if (existsSync(path.join(folder, 'Dockerfile')))
    return { build: { folder, digest: await digestOf(folder) }, image: null };
  return refuse(`it has neither ${path.basename(folder)}/Dockerfile nor docker_image.`);
}

function checkMachine(spec: EnvironmentToml, folder: string, refuse: Refuse): void {
  const where = path.basename(folder) === 'environment' ? 'environment' : 'verifier.environment';
  if (spec.os.toLowerCase() !== 'linux') refuse(`${where}.os is "${spec.os}". Only linux can be run.`);
  if ((spec.gpus ?? 0) > 0) refuse(`${where}.gpus is ${spec.gpus}. Boxes have no GPU.`);
  if ((spec.gpu_types?.length ?? 0) > 0)
    refuse(`${where}.gpu_types is ${spec.gpu_types?.join(', ')}. Boxes have no GPU.`);
  if (spec.tpu !== undefined && spec.tpu !== null) refuse(`${where}.tpu is set. Boxes have no TPU.`);
  if (where !== 'environment' && spec.mcp_servers.length > 0)
    refuse(`${where}.mcp_servers has ${spec.mcp_servers.length} servers, but only agents have tools.`);
  for (const other of ['docker-compose.yml', 'compose.yaml', 'compose.yml'])
    if (existsSync(path.join(folder, other)))
      refuse(`${path.basename(folder)}/${other} is not read. Its name must be ${composeFile}.`);
}

function limitsOf(
  spec: EnvironmentToml,
  refuse: Refuse,
): Omit<MachineSpec, 'build' | 'image' | 'compose' | 'copiesFiles'> {
  return {
    buildSeconds: spec.build_timeout_sec,
    cpus: spec.cpus ?? undefined,
    memoryMegabytes: megabytesOf(spec.memory_mb, spec.memory),
    storageMegabytes: megabytesOf(spec.storage_mb, spec.storage),
    network: networkOf(spec, refuse) ?? (spec.allow_internet === false ? 'none' : 'public'),
    env: spec.env,
    workdir: spec.workdir ?? undefined,
    healthcheck: spec.healthcheck ?? undefined,
  };
}

/** The verifier as one level of a task describes it. */
export type VerifierLevel = { readonly verifier: VerifierToml; readonly tests: string };

/**
 * Finds the machine of a separate verifier: its image, a Dockerfile with the tests, or a new copy of the agent's
 * machine. The first level that says something decides: a step goes before its task.
 */
export async function secondMachine(
  levels: readonly VerifierLevel[],
  machine: MachineSpec,
  refuse: Refuse,
): Promise<{ readonly machine: MachineSpec | null; readonly hasTests: boolean }> {
  const modes = levels.map(
    ({ verifier: { environment_mode: mode, environment } }) => mode ?? (environment && 'separate'),
  );
  if (modes.find((mode) => mode !== undefined && mode !== null) !== 'separate')
    return { machine: null, hasTests: false };
  const own = levels.find(({ verifier }) => verifier.environment)?.verifier.environment ?? undefined;
  for (const { verifier, tests } of levels) {
    const { environment } = verifier;
    if (existsSync(path.join(tests, composeFile)))
      refuse(
        `tests/${composeFile} describes several machines for the verifier. Only environment/${composeFile} can be run.`,
      );
    if (!environment?.docker_image && !existsSync(path.join(tests, 'Dockerfile'))) continue;
    const limits = own === undefined ? machine : limitsOf(own, refuse);
    const { build, image } = await machineOf(environment ?? taskFileSchema.shape.environment.parse({}), tests, refuse);
    return { machine: { ...limits, build, image, compose: null, copiesFiles: false }, hasTests: true };
  }
  if (own === undefined) return { machine, hasTests: false };
  checkMachine(own, levels[0]?.tests ?? '', refuse);
  return { machine: { ...machine, ...limitsOf(own, refuse) }, hasTests: false };
}

/** Returns the network that a table names, if it names one. */
export function networkOf({ network_mode, allowed_hosts }: NetworkToml, refuse: Refuse): HarborNetwork | undefined {
  const hosts = allowed_hosts ?? [];
  if (network_mode !== 'allowlist' && hosts.length > 0)
    refuse(`allowed_hosts names ${hosts.join(', ')}, but network_mode is not "allowlist".`);
  if (network_mode === undefined || network_mode === null) return undefined;
  if (network_mode === 'allowlist') return normalizeHosts(hosts, refuse);
  return network_mode === 'public' ? 'public' : 'none';
}
