import { EnvironmentError, isJsonObject, TaskError, toErrorMessage, type Task } from '@agentjet/core';
import type { Environment, Session } from '@agentjet/rollout/inputs';
import { removeLeftBoxes, tagOf, type BoxHost } from '@agentjet/sandbox/boxes';
import { asOutage, engineSeconds } from './box-work.js';
import { openMachine, openSecondsOf } from './harbor-machine.js';
import { HarborSession, type HarborSettings } from './harbor-session.js';
import type { HarborStep } from './read-steps.js';
import { readHarborTask, type HarborTask } from './read-task.js';
import { toolServerSeconds } from './tool-servers.js';
import { verifySecondsOf } from './verify.js';
import { healthSecondsOf } from './wait-until-healthy.js';

export type HarborOptions = HarborSettings & {
  readonly engine: BoxHost;
  /** Refuses tasks whose verifier shares the machine of the agent. */
  readonly requireSeparateVerifier: boolean;
};

/** Opens boxes for tasks of Harbor's format. The folder of a task is in `metadata.harbor.folder`. */
export function openHarbor(options: HarborOptions): Environment {
  const { engine } = options;
  const tasks = new Map<string, Promise<HarborTask>>();
  const clean = removeLeft(engine);
  const find = (task: Task): Promise<HarborTask> => {
    const { folder } = harborOf(task);
    const known = tasks.get(folder) ?? readHarborTask(folder);
    tasks.set(folder, known);
    known.catch(() => tasks.delete(folder));
    return known.then((read) => checked(task, read, options));
  };
  return {
    name: engine.name,
    limits: async (task) => {
      const found = await find(task).catch(() => undefined); // `open` says what is wrong
      if (found === undefined) return {};
      const call = options.commandSeconds + callReserveSeconds;
      const steps = found.steps.map((step, at) => {
        const next = found.steps[at + 1];
        return verifySecondsOf(step) + (next === undefined ? 0 : prepareSecondsOf(found, next));
      });
      const open = openSecondsOf(found.machine) + prepareSecondsOf(found, found.steps[0]);
      const evaluate = steps.reduce((sum, seconds) => sum + seconds, 0);
      return { open, call: steps.length > 1 ? Math.max(call, ...steps) : call, evaluate };
    },
    open: async (task, { signal, episodeId }): Promise<Session> => {
      const found = await find(task).catch((error: unknown) => {
        throw notOpened(task, error);
      });
      await clean();
      const { machine, steps } = found;
      const opened = await openMachine(engine, machine, {
        task: found,
        episodeId,
        networks: [machine.network, ...steps.flatMap(({ agent, verifier }) => [agent.network, verifier.network])],
        lifeSeconds: lifeOf(found, options),
        signal,
      });
      const session = new HarborSession(opened, { engine, task: found, episodeId, settings: options });
      try {
        await session.begin();
        return session;
      } catch (error) {
        await session.close().catch(() => undefined);
        throw error;
      }
    },
  };
}

/** A killed process may have left a client that is still starting a box. */
const secondCleaningMs = 20_000;

/** Removes the boxes of killed processes, once before the first session and once later. */
function removeLeft(engine: BoxHost): () => Promise<unknown> {
  const remove = (): Promise<unknown> => asOutage(engine.name, () => removeLeftBoxes(engine));
  let cleaning: Promise<unknown> | undefined;
  return () => {
    if (cleaning !== undefined) return cleaning;
    cleaning = remove();
    cleaning.then(
      () => setTimeout(() => void remove().catch(() => undefined), secondCleaningMs).unref(),
      () => (cleaning = undefined),
    );
    return cleaning;
  };
}

/** A call of a tool may take this long in addition to its command, for the engine. */
const callReserveSeconds = 120;

function lifeOf(task: HarborTask, { lifeSeconds, countModelTime }: HarborOptions): number {
  const ofStep = (step: HarborStep): number => {
    const { seconds } = step.agent;
    const agent = seconds === null || !countModelTime ? Math.max(lifeSeconds, seconds ?? 0) : seconds;
    return prepareSecondsOf(task, step) + agent + verifySecondsOf(step);
  };
  return task.steps.reduce((sum, step) => sum + ofStep(step), openSecondsOf(task.machine));
}

/** The longest time in which the machine can be prepared for a step. */
function prepareSecondsOf({ machine, toolServers }: HarborTask, { name, hasSetup, healthcheck }: HarborStep): number {
  const servers = toolServers.length === 0 ? 0 : toolServerSeconds;
  if (name === null) return servers;
  return servers + (hasSetup ? machine.buildSeconds : 0) + healthSecondsOf(healthcheck) + engineSeconds;
}

function harborOf({ taskId, metadata }: Task): { readonly folder: string; readonly digest: string | undefined } {
  const { harbor } = metadata;
  if (isJsonObject(harbor) && typeof harbor['folder'] === 'string')
    return { folder: harbor['folder'], digest: typeof harbor['digest'] === 'string' ? harbor['digest'] : undefined };
  throw new TaskError(
    'bad_task',
    `Task "${taskId}" does not come from a folder of Harbor. Use task_reader.type: harbor, or set metadata.harbor.folder.`,
  );
}

function checked(task: Task, read: HarborTask, { requireSeparateVerifier, engine }: HarborOptions): HarborTask {
  const { digest } = harborOf(task);
  if (digest !== undefined && digest !== read.digest)
    throw new TaskError(
      'bad_task',
      `The files of ${read.folder} are not those that the tasks were read from. Start the run again.`,
    );
  refuseBuild(read, engine);
  refuseServices(read, engine);
  if (requireSeparateVerifier && read.steps.some(({ verifier }) => verifier.machine === null))
    throw new TaskError(
      'unsupported_task',
      `The verifier of ${read.name} shares the machine of the agent, and environment.harbor.require_separate_verifier is true. Set verifier.environment_mode = "separate" in ${read.folder}/task.toml.`,
    );
  return read;
}

/** A cluster runs images of a registry. It cannot build one. */
function refuseBuild({ name, folder, machine, steps }: HarborTask, engine: BoxHost): void {
  if (engine.name !== 'kubernetes' || engine.settings.image !== null) return;
  const machines = [machine, ...steps.map(({ verifier }) => verifier.machine)];
  const build = machines.map((each) => each?.build).find((each) => each != null);
  if (build == null) return;
  throw new TaskError(
    'unsupported_task',
    `The Harbor task ${name} (${folder}) has a Dockerfile and no docker_image, and a cluster cannot build images. Build ${build.folder} as an image of your registry with the tag ${tagOf(build.digest)}, and set environment.harbor.kubernetes.image, such as registry.example.com/tasks:{digest}.`,
  );
}

/** A cluster would need a service and rules of its network for each machine. */
function refuseServices({ name, folder, machine }: HarborTask, engine: BoxHost): void {
  if (engine.name !== 'kubernetes' || machine.compose === null) return;
  throw new TaskError(
    'unsupported_task',
    `The Harbor task ${name} (${folder}) has a docker-compose.yaml, which environment.harbor.engine: kubernetes cannot run. Use podman or docker.`,
  );
}

function notOpened(task: Task, error: unknown): unknown {
  if (!(error instanceof TaskError)) return error;
  return new EnvironmentError('not_opened', `Task "${task.taskId}" cannot be opened. ${toErrorMessage(error)}`, {
    cause: error,
  });
}
