import { existsSync } from 'node:fs';
import path from 'node:path';
import { normalizeHosts } from './allowed-hosts.js';
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
export type MachineSpec = {
  /** The folder with the Dockerfile, and the digest of its content. Null if `image` is used. */
  readonly build: { readonly folder: string; readonly digest: string } | null;
  readonly image: string | null;
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

export type Refuse = (what: string) => never;

/** Reads the machine of `environment/`, or the image of a separate verifier. */
export async function machineOf(spec: EnvironmentToml, folder: string, refuse: Refuse): Promise<MachineSpec> {
  checkMachine(spec, folder, refuse);
  const hasDockerfile = existsSync(path.join(folder, 'Dockerfile'));
  const image = spec.docker_image ?? null;
  if (image === null && !hasDockerfile) refuse(`it has neither ${path.basename(folder)}/Dockerfile nor docker_image.`);
  return {
    build: image === null ? { folder, digest: await digestOf(folder) } : null,
    image,
    copiesFiles: image !== null && !hasDockerfile && existsSync(folder),
    ...limitsOf(spec, refuse),
  };
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
  for (const compose of ['docker-compose.yaml', 'docker-compose.yml', 'compose.yaml'])
    if (existsSync(path.join(folder, compose)))
      refuse(
        `${path.basename(folder)}/${compose} describes several machines. Only a Dockerfile or docker_image can be run. Let Harbor itself run this task, as a program of a swarm (docs/harbor-tasks.md).`,
      );
}

function limitsOf(spec: EnvironmentToml, refuse: Refuse): Omit<MachineSpec, 'build' | 'image' | 'copiesFiles'> {
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
    if (!environment?.docker_image && !existsSync(path.join(tests, 'Dockerfile'))) continue;
    const image = await machineOf(environment ?? taskFileSchema.shape.environment.parse({}), tests, refuse);
    const limits = own === undefined ? machine : limitsOf(own, refuse);
    return { machine: { ...limits, build: image.build, image: image.image, copiesFiles: false }, hasTests: true };
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
