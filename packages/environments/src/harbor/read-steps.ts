import { existsSync } from 'node:fs';
import path from 'node:path';
import { networkOf, secondMachine, type HarborNetwork, type MachineSpec } from './read-machine.js';
import type { Refuse } from './refuse.js';
import { ignoredIn } from './task-files.js';
import type { ArtifactToml, EnvironmentToml, StepToml, TaskToml } from './task-schema.js';

/** The steps of a task. A task without `[[steps]]` has one, which is the whole task. */

export type Artifact = {
  readonly source: string;
  readonly exclude: readonly string[];
  /** The machine that has it: `main`, or one of docker-compose.yaml. */
  readonly service: string;
};

export type HarborStep = {
  /** The name of its folder in `steps/`. Null if the task has no `[[steps]]`. */
  readonly name: string | null;
  readonly instruction: string;
  /** A folder of the task whose files are copied to the working folder first. Null: there is none. */
  readonly files: string | null;
  /** True if `setup.sh` of these files runs before the agent. */
  readonly hasSetup: boolean;
  readonly healthcheck: EnvironmentToml['healthcheck'];
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
    /** The folders of the task whose files become `/tests`. Files of a later one replace those of an earlier one. */
    readonly tests: readonly string[];
  };
  readonly artifacts: readonly Artifact[];
  /** The folder of the task with `solve.sh`. */
  readonly solution: string;
  /** The task ends after this step if one of these rewards is not reached. */
  readonly leastRewards: Readonly<Record<string, number>>;
};

export type StepPlace = {
  readonly toml: TaskToml;
  /** The folder of the task. */
  readonly folder: string;
  readonly machine: MachineSpec;
  readonly refuse: Refuse;
  readonly readText: (file: string) => Promise<string>;
};

/** Reads the steps that `[[steps]]` names, or the only one. */
export async function readSteps(place: StepPlace): Promise<readonly [HarborStep, ...HarborStep[]]> {
  const { toml, refuse } = place;
  const names = (toml.steps ?? []).map(({ name }) => name.normalize().toLowerCase());
  const twice = names.find((name, index) => names.indexOf(name) < index);
  if (twice !== undefined) refuse(`[[steps]] has the name ${JSON.stringify(twice)} twice.`);
  const [first, ...rest] = toml.steps ?? [];
  const steps: [HarborStep, ...HarborStep[]] = [await readStep(first, place)];
  for (const step of rest) steps.push(await readStep(step, place));
  return steps;
}

async function readStep(step: StepToml | undefined, place: StepPlace): Promise<HarborStep> {
  const { toml, folder, machine, refuse, readText } = place;
  const below = step === undefined ? '' : `steps/${step.name}/`;
  const has = (file: string): boolean => existsSync(path.join(folder, file));
  const files = step !== undefined && has(`${below}workdir`) ? `${below}workdir` : null;
  const artifacts = [...toml.artifacts, ...(step?.artifacts ?? [])];
  checkArtifacts(artifacts, place);
  const { agent } = toml;
  return {
    name: step?.name ?? null,
    instruction: await readText(path.join(folder, `${below}instruction.md`)),
    files,
    hasSetup: files !== null && has(`${files}/setup.sh`),
    healthcheck: step?.healthcheck ?? undefined,
    agent: {
      seconds: step?.agent.timeout_sec ?? agent.timeout_sec ?? null,
      user: step?.agent.user ?? agent.user ?? undefined,
      network: networkOf(step?.agent ?? {}, refuse) ?? networkOf(agent, refuse) ?? machine.network,
    },
    verifier: await readVerifier(step, place),
    artifacts: artifacts.map(toArtifact),
    solution: has(`${below}solution`) ? `${below}solution` : 'solution',
    leastRewards: typeof step?.min_reward === 'number' ? { reward: step.min_reward } : (step?.min_reward ?? {}),
  };
}

async function readVerifier(
  step: StepToml | undefined,
  { toml, folder, machine, refuse }: StepPlace,
): Promise<HarborStep['verifier']> {
  const { verifier } = toml;
  const levels = [
    ...(step === undefined ? [] : [{ verifier: step.verifier, tests: path.join(folder, 'steps', step.name, 'tests') }]),
    { verifier, tests: path.join(folder, 'tests') },
  ];
  for (const level of levels)
    if (level.verifier.environment_mode === 'shared' && level.verifier.environment)
      refuse(
        'verifier.environment_mode is "shared", but [verifier.environment] describes another machine. Keep one of them.',
      );
  const second = await secondMachine(levels, machine, refuse);
  const tests = ['tests', ...(step === undefined ? [] : [`steps/${step.name}/tests`])];
  if (!second.hasTests) checkTests(folder, tests, refuse);
  const collect = [...verifier.collect, ...(step?.verifier.collect ?? [])];
  for (const { service } of collect) checkService('verifier.collect', service, { machine, refuse });
  return {
    // A step has its own limit, or the usual one. The limit of the task is for tasks without steps.
    seconds: (step?.verifier ?? verifier).timeout_sec,
    env: { ...verifier.env, ...step?.verifier.env },
    user: step?.verifier.user ?? verifier.user ?? undefined,
    network:
      networkOf(step?.verifier ?? {}, refuse) ?? networkOf(verifier, refuse) ?? (second.machine ?? machine).network,
    collect,
    ...second,
    tests: tests.filter((each) => existsSync(path.join(folder, each))),
  };
}

const toArtifact = (artifact: ArtifactToml): Artifact =>
  typeof artifact === 'string'
    ? { source: artifact, exclude: [], service: 'main' }
    : { ...artifact, service: artifact.service ?? 'main' };

type ServicePlace = Pick<StepPlace, 'machine' | 'refuse'>;

function checkArtifacts(artifacts: readonly ArtifactToml[], { machine, refuse }: ServicePlace): void {
  const owners = new Map<string, string>();
  for (const { source, service } of artifacts.map(toArtifact)) {
    checkService('artifacts', service, { machine, refuse });
    if (source.split('/').includes('..')) refuse(`artifacts has the source ${JSON.stringify(source)}, with "..".`);
    if (service !== 'main' && !source.startsWith('/'))
      refuse(`artifacts has the source ${JSON.stringify(source)} of the service ${service}. Give a whole path.`);
    const owner = owners.get(source) ?? service;
    if (owner !== service) refuse(`artifacts has ${source} of ${owner} and of ${service}, which would be one file.`);
    owners.set(source, service);
  }
}

function checkService(key: string, service: string, { machine: { compose }, refuse }: ServicePlace): void {
  if (service === 'main' || compose?.services.some(({ name }) => name === service)) return;
  refuse(`${key} names the service "${service}", which environment/docker-compose.yaml does not have.`);
}

function checkTests(folder: string, tests: readonly string[], refuse: Refuse): void {
  const found = tests.findLast((each) => existsSync(path.join(folder, each, 'test.sh')));
  if (found === undefined) return refuse(`it has no ${tests.at(-1)}/test.sh.`);
  if (ignoredIn(folder, found)('test.sh')) refuse(`its .harborignore leaves out ${found}/test.sh.`);
}
