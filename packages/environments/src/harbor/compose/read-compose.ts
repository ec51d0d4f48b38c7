import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { sha256, toErrorMessage } from '@agentjet/core';
import type { BoxProgram, BoxVolume } from '@agentjet/sandbox/boxes';
import { parse } from 'yaml';
import { logFolders } from '../log-folders.js';
import type { Refuse } from '../refuse.js';
import { digestOf } from '../task-files.js';
import type { EnvironmentToml } from '../task-schema.js';
import { quote } from '../quote.js';
import { resolveVariables } from '../variables.js';
import { fillIn } from './compose-text.js';
import { parseCompose, type ComposeYaml, type ServiceYaml } from './compose-schema.js';

/** The machines that a docker-compose.yaml adds to that of the agent, which it names `main`. */

export const composeFile = 'docker-compose.yaml';

/** A folder from which an image is built, or the name of an image. Exactly one is not null. */
export type ImageSpec = {
  readonly build: { readonly folder: string; readonly dockerfile?: string; readonly digest: string } | null;
  readonly image: string | null;
};

export type ServiceSpec = {
  readonly name: string;
  readonly image: ImageSpec;
  readonly program: BoxProgram;
  readonly env: Readonly<Record<string, string>>;
  readonly user: string | undefined;
  readonly workdir: string | undefined;
  readonly volumes: readonly BoxVolume[];
  readonly healthcheck: EnvironmentToml['healthcheck'];
  readonly waitsFor: readonly { readonly service: string; readonly condition: Condition }[];
  /** True if the program must end with 0 before the agent begins. */
  readonly isPreparation: boolean;
};

type Condition = ServiceYaml['depends_on'][string]['condition'];

/** What the file says about the agent's machine. */
export type MainSpec = Omit<ServiceSpec, 'name' | 'image' | 'program' | 'waitsFor' | 'isPreparation'> & {
  /** Null: that of the task. */
  readonly image: ImageSpec | null;
  /** Undefined: the machine waits for commands. */
  readonly program: BoxProgram | undefined;
};

export type Compose = {
  readonly main: MainSpec;
  /** Each comes after those that it waits for. */
  readonly services: readonly ServiceSpec[];
  /** The names of volumes that several machines share. */
  readonly volumes: readonly string[];
  /** All names of all machines, for their common network. */
  readonly names: readonly string[];
};

/** Reads the file, or returns null if there is none. A key that boxes do not have is refused by its name. */
export async function readCompose(
  folder: string,
  env: Readonly<Record<string, string>>,
  refuse: Refuse,
): Promise<Compose | null> {
  const file = path.join(folder, composeFile);
  if (!existsSync(file)) return null;
  const wrong = (what: string): never => refuse(`${path.basename(folder)}/${composeFile}: ${what}`);
  const yaml = await readYaml(file, { ...process.env, ...resolveVariables(env), ...ownVariables(folder) }, wrong);
  const names = Object.keys(yaml.services).filter((name) => name !== 'main');
  checkNetworks(yaml, wrong);
  checkPorts(yaml, wrong);
  const place = { yaml, folder, wrong };
  const services = await Promise.all(names.map((name) => readService(name, place)));
  return {
    main: await readMain(place),
    services: inOrder(services, wrong),
    volumes: Object.keys(yaml.volumes ?? {}),
    names: [
      ...new Set([
        'main',
        ...Object.entries(yaml.services).flatMap(([name, service]) => [name, ...aliasesOf(service)]),
      ]),
    ],
  };
}

/** Variables that Harbor gives to the file. */
function ownVariables(folder: string): Readonly<Record<string, string>> {
  const logs = logFolders.flatMap((each) => {
    const name = each === '/logs/artifacts' ? 'ARTIFACTS' : `${path.basename(each).toUpperCase()}_LOGS`;
    return [`HOST_${name}_PATH`, `ENV_${name}_PATH`].map((key) => [key, each] as const);
  });
  return { CONTEXT_DIR: folder, ...Object.fromEntries(logs) };
}

async function readYaml(
  file: string,
  variables: Readonly<Record<string, string | undefined>>,
  wrong: Refuse,
): Promise<ComposeYaml> {
  let value: unknown;
  try {
    value = parse(await readFile(file, 'utf8'), { merge: true });
  } catch (error) {
    return wrong(`it is not YAML: ${toErrorMessage(error).split('\n')[0]}`);
  }
  const checked = parseCompose(fillIn(value, variables, wrong));
  if (checked.success) return checked.data;
  const [issue] = checked.error.issues;
  const keys = issue?.path.join('.') ?? '';
  if (issue?.code === 'unrecognized_keys')
    return wrong(`${[...issue.path, issue.keys[0]].join('.')} is a key that boxes do not have. Remove it.`);
  return wrong(`${keys} is wrong. ${issue?.message}.`);
}

type Place = { readonly yaml: ComposeYaml; readonly folder: string; readonly wrong: Refuse };

async function readService(name: string, place: Place): Promise<ServiceSpec> {
  const { yaml, wrong } = place;
  const service = serviceOf(yaml, name);
  const image = await imageOf(name, service, place);
  if (image === null) return wrong(`services.${name} has neither image nor build.`);
  const waitsFor = Object.entries(service.depends_on).map(([other, { condition }]) => ({ service: other, condition }));
  for (const { service: other, condition } of waitsFor) {
    if (other === 'main') wrong(`services.${name}.depends_on names main, which begins after all others.`);
    checkCondition(name, { other, condition }, place);
  }
  return {
    name,
    image,
    program: { entrypoint: service.entrypoint ?? null, command: service.command ?? null },
    ...placeOf(name, service, place),
    waitsFor,
    isPreparation: Object.values(yaml.services).some(
      ({ depends_on }) => depends_on[name]?.condition === 'service_completed_successfully',
    ),
  };
}

async function readMain(place: Place): Promise<MainSpec> {
  const service = serviceOf(place.yaml, 'main');
  for (const [other, { condition }] of Object.entries(service.depends_on))
    checkCondition('main', { other, condition }, place);
  const { entrypoint = null, command = null } = service;
  const isWaiting = command === null || waiting.test(command.join(' '));
  return {
    image: await imageOf('main', service, place),
    program: entrypoint === null && isWaiting ? undefined : { entrypoint, command },
    ...placeOf('main', service, place),
  };
}

/** Programs that do nothing, as a box does itself. */
const waiting = /^((ba)?sh -l?c )?(exec )?(sleep (infinity|\d+)|tail -f \/dev\/null)$/;

const serviceOf = ({ services }: ComposeYaml, name: string): ServiceYaml => services[name] ?? emptyService;

const emptyService: ServiceYaml = { environment: {}, depends_on: {}, expose: [], volumes: [], networks: {} };

function checkCondition(
  name: string,
  { other, condition }: { readonly other: string; readonly condition: Condition },
  { yaml, wrong }: Place,
): void {
  const found = yaml.services[other];
  if (found === undefined) return wrong(`services.${name}.depends_on names ${other}, which is not a service.`);
  if (condition === 'service_healthy' && healthcheckOf(other, found, wrong) === undefined)
    wrong(`services.${name}.depends_on waits until ${other} is healthy, but services.${other} has no healthcheck.`);
}

async function imageOf(
  name: string,
  { build, image }: ServiceYaml,
  { folder, wrong }: Place,
): Promise<ImageSpec | null> {
  if (!build) return image ? { build: null, image } : null;
  const { context, dockerfile } = build;
  const root = path.resolve(folder, context);
  for (const [key, place] of [
    ['context', root],
    ['dockerfile', path.resolve(root, dockerfile)],
  ] as const)
    if (place !== folder && !place.startsWith(folder + path.sep))
      return wrong(`services.${name}.build.${key} is ${build[key]}, outside of ${path.basename(folder)}/.`);
  if (!existsSync(path.join(root, dockerfile)))
    return wrong(`services.${name}.build names ${path.join(context, dockerfile)}, which does not exist.`);
  const digest = await digestOf(root);
  if (dockerfile === 'Dockerfile') return { build: { folder: root, digest }, image: null };
  const ofBoth = sha256(`${digest}\0${dockerfile}`);
  return { build: { folder: root, dockerfile, digest: ofBoth }, image: null };
}

function placeOf(
  name: string,
  service: ServiceYaml,
  { yaml, wrong }: Place,
): Pick<ServiceSpec, 'env' | 'user' | 'workdir' | 'volumes' | 'healthcheck'> {
  const env = Object.entries(service.environment).map(([key, value]) => {
    const found = value ?? process.env[key];
    return [key, found ?? wrong(`services.${name}.environment needs the variable ${key}, which is not set.`)] as const;
  });
  const volumes = service.volumes.filter(({ source }) => name !== 'main' || !logFolders.includes(source ?? ''));
  for (const { source, target, read_only } of volumes)
    if (source == null && read_only)
      wrong(`services.${name}.volumes has ${target}, which only it could write, as read-only.`);
    else if (source != null && !Object.hasOwn(yaml.volumes ?? {}, source))
      wrong(
        `services.${name}.volumes names ${source}, which is not in volumes. Folders of the machine outside cannot be mounted.`,
      );
  return {
    env: Object.fromEntries(env),
    user: service.user ?? undefined,
    workdir: service.working_dir ?? undefined,
    volumes: volumes.map(({ source, target, read_only }) => ({
      name: source ?? null,
      path: target,
      isReadOnly: read_only,
    })),
    healthcheck: healthcheckOf(name, service, wrong),
  };
}

/**
 * An engine asks for the first time after one interval. A box is asked at once, so failures of that time do not count.
 */
function healthcheckOf(name: string, { healthcheck }: ServiceYaml, wrong: Refuse): EnvironmentToml['healthcheck'] {
  const test = healthcheck?.test;
  if (!healthcheck || healthcheck.disable || !test || test[0] === 'NONE') return undefined;
  const { interval, timeout, retries, start_period, start_interval } = healthcheck;
  const [kind, ...rest] = typeof test === 'string' ? ['CMD-SHELL', test] : test;
  if (kind !== 'CMD' && kind !== 'CMD-SHELL')
    return wrong(
      `services.${name}.healthcheck.test begins with ${JSON.stringify(kind)}. Begin it with CMD or CMD-SHELL.`,
    );
  return {
    command: kind === 'CMD' ? rest.map(quote).join(' ') : (rest[0] ?? ''),
    interval_sec: interval,
    timeout_sec: timeout,
    retries,
    start_period_sec: Math.max(start_period, interval),
    start_interval_sec: Math.min(start_interval ?? 1, interval),
  };
}

const aliasesOf = ({ networks }: ServiceYaml): readonly string[] =>
  Object.values(networks).flatMap((network) => network?.aliases ?? []);

/** All machines of a task share one network, so the file must not separate them. */
function checkNetworks({ services, networks }: ComposeYaml, wrong: Refuse): void {
  const known = ['default', ...Object.keys(networks ?? {})];
  const used = Object.entries(services).map(([name, service]) => {
    const given = Object.keys(service.networks);
    const unknown = given.find((network) => !known.includes(network));
    if (unknown !== undefined) wrong(`services.${name}.networks names ${unknown}, which is not in networks.`);
    if (aliasesOf(service).includes('localhost')) wrong(`services.${name}.networks has the alias localhost.`);
    return { name, text: given.length === 0 ? 'default' : given.sort().join(' ') };
  });
  const other = used.find(({ text }) => text !== used[0]?.text);
  if (other !== undefined)
    wrong(
      `services.${other.name}.networks separates it from ${used[0]?.name}. All services of a task share one network.`,
    );
}

function checkPorts({ services }: ComposeYaml, wrong: Refuse): void {
  const owners = new Map<string, string>();
  for (const [name, { expose }] of Object.entries(services))
    for (const port of new Set(expose)) {
      const owner = owners.get(port);
      if (owner !== undefined)
        wrong(
          `services.${name}.expose and services.${owner}.expose have port ${port}. All services of a task share one network.`,
        );
      owners.set(port, name);
    }
}

/** Puts each service after those that it waits for. */
function inOrder(services: readonly ServiceSpec[], wrong: Refuse): readonly ServiceSpec[] {
  const ordered: ServiceSpec[] = [];
  const isReady = ({ waitsFor }: ServiceSpec): boolean =>
    waitsFor.every(({ service }) => ordered.some(({ name }) => name === service));
  for (let left = services; left.length > 0; left = left.filter((each) => !ordered.includes(each))) {
    const next = left.find(isReady);
    if (next === undefined) return wrong(`services.${left[0]?.name}.depends_on leads back to itself.`);
    ordered.push(next);
  }
  return ordered;
}
