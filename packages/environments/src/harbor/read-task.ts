import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { isJsonObject, TaskError, toErrorMessage } from '@agentjet/core';
import { parse } from 'smol-toml';
import { refuseLinks, digestOf, ignoredIn } from './task-files.js';
import { megabytesOf, taskFileSchema, type EnvironmentToml, type TaskToml } from './task-schema.js';

/** A folder of Harbor's format, read and checked. What cannot be honoured is refused here, by name. */

export type HarborNetwork = 'public' | 'none';

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

export type Artifact = { readonly source: string; readonly exclude: readonly string[] };

export type HarborTask = {
  readonly folder: string;
  /** `[task] name`, or the name of the folder. */
  readonly name: string;
  /** Identifies the content of all files of the task. */
  readonly digest: string;
  readonly instruction: string;
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly machine: MachineSpec;
  readonly skillsFolder: string | undefined;
  readonly agent: {
    readonly seconds: number | null;
    readonly user: string | number | undefined;
    readonly network: HarborNetwork;
  };
  readonly verifier: {
    readonly seconds: number;
    readonly env: Readonly<Record<string, string>>;
    readonly user: string | number | undefined;
    readonly network: HarborNetwork;
    readonly collect: TaskToml['verifier']['collect'];
    /** The second machine of a separate verifier. Null if the verifier shares the machine of the agent. */
    readonly machine: MachineSpec | null;
    /** True if the image of the second machine has the tests already. */
    readonly hasTests: boolean;
  };
  readonly artifacts: readonly Artifact[];
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
  const machine = await machineOf(toml.environment, path.join(folder, 'environment'), refuse);
  const { verifier, agent } = toml;
  const second = await secondMachine(toml, { folder, machine, refuse });
  for (const part of ['environment', 'tests', 'solution'])
    if (existsSync(path.join(folder, part))) await refuseLinks(path.join(folder, part), folder);
  if (!second.hasTests) checkTests(folder, refuse);
  return {
    folder,
    name,
    digest: await digestOf(folder),
    instruction: withoutCanary(await readRequired(path.join(folder, 'instruction.md'))),
    metadata: toml.metadata,
    machine,
    skillsFolder: toml.environment.skills_dir ?? undefined,
    agent: {
      seconds: agent.timeout_sec ?? null,
      user: agent.user ?? undefined,
      network: networkOf(agent) ?? machine.network,
    },
    verifier: {
      seconds: verifier.timeout_sec,
      env: verifier.env,
      user: verifier.user ?? undefined,
      network: networkOf(verifier) ?? (second.machine ?? machine).network,
      collect: verifier.collect,
      ...second,
    },
    artifacts: toml.artifacts.map((each) => (typeof each === 'string' ? { source: each, exclude: [] } : each)),
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

type Refuse = (what: string) => never;

function checkSupported(toml: TaskToml, folder: string, refuse: Refuse): void {
  if (toml.steps !== null && toml.steps !== undefined && toml.steps.length > 0)
    refuse(`it has ${toml.steps.length} steps ([[steps]]). Only tasks with one step can be run.`);
  if (existsSync(path.join(folder, 'trajectory.json')))
    refuse('it has an earlier conversation (trajectory.json), which agents cannot be given yet.');
  if (toml.verifier.environment_mode === 'shared' && toml.verifier.environment)
    refuse(
      'verifier.environment_mode is "shared", but [verifier.environment] describes another machine. Keep one of them.',
    );
  for (const { service } of toml.verifier.collect)
    if (service !== 'main') refuse(`verifier.collect names the service "${service}"; only main can be run.`);
  for (const artifact of toml.artifacts) {
    const { source, service } = typeof artifact === 'string' ? { source: artifact, service: null } : artifact;
    if ((service ?? 'main') !== 'main') refuse(`artifacts names the service "${service}"; only main can be run.`);
    if (source.split('/').includes('..')) refuse(`artifacts has the source ${JSON.stringify(source)}, with "..".`);
  }
  for (const phase of ['agent', 'verifier'] as const)
    if (toml[phase].network_mode === 'allowlist' || (toml[phase].allowed_hosts?.length ?? 0) > 0)
      refuse(`${phase}.network_mode is allowlist. Only public and no-network can be enforced.`);
  for (const [key, variables] of [
    ['verifier.env', toml.verifier.env],
    ['solution.env', {}],
    ['environment.env', toml.environment.env],
  ] as const)
    for (const missing of missingVariables(variables))
      refuse(`${key} needs the environment variable ${missing}, which is not set.`);
}

function checkMachine(spec: EnvironmentToml, folder: string, refuse: Refuse): void {
  const where = path.basename(folder) === 'environment' ? 'environment' : 'verifier.environment';
  if (spec.os.toLowerCase() !== 'linux') refuse(`${where}.os is "${spec.os}". Only linux can be run.`);
  if ((spec.gpus ?? 0) > 0) refuse(`${where}.gpus is ${spec.gpus}. Boxes have no GPU.`);
  if ((spec.gpu_types?.length ?? 0) > 0)
    refuse(`${where}.gpu_types is ${spec.gpu_types?.join(', ')}. Boxes have no GPU.`);
  if (spec.tpu !== undefined && spec.tpu !== null) refuse(`${where}.tpu is set. Boxes have no TPU.`);
  if (spec.network_mode === 'allowlist' || (spec.allowed_hosts?.length ?? 0) > 0)
    refuse(`${where}.network_mode is allowlist. Only public and no-network can be enforced.`);
  if (spec.mcp_servers.length > 0)
    refuse(`${where}.mcp_servers has ${spec.mcp_servers.length} servers, which cannot be served yet.`);
  for (const compose of ['docker-compose.yaml', 'docker-compose.yml', 'compose.yaml'])
    if (existsSync(path.join(folder, compose)))
      refuse(
        `${path.basename(folder)}/${compose} describes several machines. Only a Dockerfile or docker_image can be run.`,
      );
}

async function machineOf(spec: EnvironmentToml, folder: string, refuse: Refuse): Promise<MachineSpec> {
  checkMachine(spec, folder, refuse);
  const hasDockerfile = existsSync(path.join(folder, 'Dockerfile'));
  const image = spec.docker_image ?? null;
  if (image === null && !hasDockerfile) refuse(`it has neither ${path.basename(folder)}/Dockerfile nor docker_image.`);
  return {
    build: image === null ? { folder, digest: await digestOf(folder) } : null,
    image,
    copiesFiles: image !== null && !hasDockerfile && existsSync(folder),
    ...limitsOf(spec),
  };
}

function limitsOf(spec: EnvironmentToml): Omit<MachineSpec, 'build' | 'image' | 'copiesFiles'> {
  return {
    buildSeconds: spec.build_timeout_sec,
    cpus: spec.cpus ?? undefined,
    memoryMegabytes: megabytesOf(spec.memory_mb, spec.memory),
    storageMegabytes: megabytesOf(spec.storage_mb, spec.storage),
    network: networkOf(spec) ?? (spec.allow_internet === false ? 'none' : 'public'),
    env: spec.env,
    workdir: spec.workdir ?? undefined,
    healthcheck: spec.healthcheck ?? undefined,
  };
}

/** Finds the machine of a separate verifier: its own image, `tests/Dockerfile`, or a new copy of the agent's machine. */
async function secondMachine(
  { verifier }: TaskToml,
  { folder, machine, refuse }: { readonly folder: string; readonly machine: MachineSpec; readonly refuse: Refuse },
): Promise<{ readonly machine: MachineSpec | null; readonly hasTests: boolean }> {
  const own = verifier.environment ?? undefined;
  if (verifier.environment_mode !== 'separate' && own === undefined) return { machine: null, hasTests: false };
  const tests = path.join(folder, 'tests');
  if (own?.docker_image || existsSync(path.join(tests, 'Dockerfile'))) {
    const image = await machineOf(own ?? taskFileSchema.shape.environment.parse({}), tests, refuse);
    const limits = own === undefined ? machine : image;
    return { machine: { ...limits, build: image.build, image: image.image, copiesFiles: false }, hasTests: true };
  }
  if (own === undefined) return { machine, hasTests: false };
  checkMachine(own, tests, refuse);
  const limits = limitsOf(own);
  return { machine: { ...machine, ...limits }, hasTests: false };
}

function checkTests(folder: string, refuse: Refuse): void {
  if (!existsSync(path.join(folder, 'tests', 'test.sh'))) refuse('it has no tests/test.sh.');
  if (ignoredIn(folder, 'tests')('test.sh')) refuse('its .harborignore leaves out tests/test.sh.');
}

function networkOf({ network_mode }: { readonly network_mode?: string | undefined }): HarborNetwork | undefined {
  if (network_mode === undefined) return undefined;
  return network_mode === 'public' ? 'public' : 'none';
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

const template = /^\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-(.*))?\}$/s;

function missingVariables(variables: Readonly<Record<string, string>>): readonly string[] {
  return Object.values(variables).flatMap((value) => {
    const [, name, instead] = template.exec(value) ?? [];
    return name !== undefined && instead === undefined && process.env[name] === undefined ? [name] : [];
  });
}

/** Fills in `${NAME}` and `${NAME:-instead}` from the variables of this process. Throws TaskError if one is not set. */
export function resolveVariables(variables: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  const [missing] = missingVariables(variables);
  if (missing !== undefined)
    throw new TaskError('bad_task', `The task needs the environment variable ${missing}, which is not set.`);
  return Object.fromEntries(
    Object.entries(variables).map(([key, value]) => {
      const [, name, instead] = template.exec(value) ?? [];
      return [key, name === undefined ? value : (process.env[name] ?? instead ?? '')];
    }),
  );
}
