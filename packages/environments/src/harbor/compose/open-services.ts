import { setTimeout as sleep } from 'node:timers/promises';
import { EnvironmentOutage } from '@agentjet/core';
import {
  createVolume,
  openContainer,
  readProgramEnd,
  readProgramStart,
  removeVolume,
  type Box,
  type BoxEnd,
  type BoxEngine,
  type BoxHost,
  type BoxVolume,
} from '@agentjet/sandbox/boxes';
import {
  asOutage,
  boxOptionsOf,
  engineSeconds,
  harborHostOf,
  lastLineOf,
  type OpenMachineOptions,
} from '../box-work.js';
import { boxNetworkOf } from '../phase-network.js';
import { prepareTaskImage } from '../prepare-task-image.js';
import type { MachineSpec } from '../read-machine.js';
import type { HarborTask } from '../read-task.js';
import { healthSecondsOf, waitUntilHealthy } from '../wait-until-healthy.js';
import type { ServiceSpec } from './read-compose.js';

/**
 * The machines next to that of the agent, as boxes. They share one network with it: that of a further box which does
 * nothing, so that the network outlives a restart of any machine. A service that does not start, or ends before it is
 * healthy, is an outage.
 */

export type OpenServicesOptions = OpenMachineOptions & {
  /** The image of the agent's machine. */
  readonly image: string;
};

export async function openServices(
  engine: BoxHost,
  spec: MachineSpec,
  options: OpenServicesOptions,
): Promise<Services> {
  if (engine.name === 'kubernetes') throw new Error('Pods have no services.'); // refused when the task is opened
  const services = new Services(engine, options.task);
  try {
    await services.begin(spec, options);
    return services;
  } catch (error) {
    await services.remove().catch(() => undefined);
    throw error;
  }
}

/** The longest time in which all services can be opened. */
export function serviceSecondsOf({ compose, buildSeconds }: MachineSpec): number {
  const each = ({ healthcheck, isPreparation }: ServiceSpec): number =>
    (isPreparation ? 2 : 1) * buildSeconds + healthSecondsOf(healthcheck) + engineSeconds;
  return (compose?.services ?? []).reduce((sum, service) => sum + each(service), engineSeconds);
}

const pollMs = 300;
/** An engine may take this long to take a box that has ended off its network. */
const clearMs = 10_000;
/** The names are read this often. */
const mostTries = 10;

/** Whether a whole line of a file of hosts gives the loopback address this name. */
const hasName = (hosts: string, name: string): boolean =>
  hosts
    .split('\n')
    .slice(0, -1)
    .some((line) => {
      const [address, ...names] = line.trim().split(/\s+/);
      return address === '127.0.0.1' && names.includes(name);
    });

export class Services {
  readonly engine: BoxEngine;
  readonly #task: HarborTask;
  readonly #volumes = new Map<string, string>();
  readonly #boxes = new Map<string, Box>();
  #specs: readonly ServiceSpec[] = [];
  #network: Box | undefined;
  #networkBegan = '';
  #hosts: readonly string[] = [];
  #names = '';

  constructor(engine: BoxEngine, task: HarborTask) {
    this.engine = engine;
    this.#task = task;
  }

  /** The box whose network all machines of the task share. */
  get networkOf(): Box {
    if (this.#network === undefined) throw new Error('The services have not begun.');
    return this.#network;
  }

  async begin(spec: MachineSpec, options: OpenServicesOptions): Promise<void> {
    const { compose } = spec;
    if (compose === null) return;
    this.#specs = compose.services;
    this.#hosts = compose.names;
    for (const name of compose.volumes) this.#volumes.set(name, await this.#ask(() => createVolume(this.engine)));
    const network = await this.#ask(() =>
      openContainer(this.engine, { ...boxOptionsOf(options), image: options.image, names: compose.names }),
    );
    this.#network = network;
    await this.#ask(() => network.setNetwork(boxNetworkOf(spec.network)));
    this.#networkBegan = await this.#ask(() => readProgramStart(this.engine, network.name));
    await this.#beginAll(spec, options);
  }

  /** Starts services as soon as those that they wait for allow it. */
  async #beginAll({ buildSeconds }: MachineSpec, options: OpenServicesOptions): Promise<void> {
    const failed = new AbortController();
    const signal = AbortSignal.any([options.signal, failed.signal]);
    const started = new Map<string, Promise<Box>>();
    const ready = new Map<string, Promise<void>>();
    for (const spec of this.#specs) {
      const before = spec.waitsFor.map(
        async ({ service, condition }): Promise<unknown> =>
          condition === 'service_started' ? started.get(service) : ready.get(service),
      );
      const box = Promise.all(before).then(() => this.#start(spec, { ...options, buildSeconds, signal }));
      started.set(spec.name, box);
      ready.set(
        spec.name,
        box.then((each) => this.#waitUntilReady(spec, each, { buildSeconds, signal })),
      );
    }
    const all = [...started.values(), ...ready.values()];
    await Promise.all(all).catch(async (error: unknown) => {
      failed.abort(error);
      await Promise.allSettled(all); // they may still open boxes
      throw error;
    });
  }

  async #start(spec: ServiceSpec, options: OpenServicesOptions & { readonly buildSeconds: number }): Promise<Box> {
    const { name, program, env, user, workdir, volumes } = spec;
    const image = await prepareTaskImage(this.engine, spec.image, { ...options, task: this.#task });
    const box = await this.#ask(() =>
      openContainer(this.engine, {
        ...boxOptionsOf(options),
        image,
        networkOf: this.networkOf,
        program,
        env,
        user,
        workdir,
        volumes: this.volumesOf(volumes),
      }),
    );
    this.#boxes.set(name, box);
    return box;
  }

  async #waitUntilReady(
    spec: ServiceSpec,
    box: Box,
    { buildSeconds, signal }: { readonly buildSeconds: number; readonly signal: AbortSignal },
  ): Promise<void> {
    if (spec.isPreparation) return this.#waitUntilOver(spec, box, { seconds: buildSeconds, signal });
    const { healthcheck } = spec;
    const subject = `service ${spec.name} of task ${this.#task.name}`;
    const given = { healthcheck, subject, user: undefined, env: {}, task: this.#task, engine: this.engine, signal };
    await waitUntilHealthy({ box, workdir: undefined }, given).catch(async (error: unknown) => {
      signal.throwIfAborted();
      const end = await readProgramEnd(this.engine, box.name).catch(() => null);
      throw end === null ? error : this.#ended(spec, end);
    });
  }

  async #waitUntilOver(
    spec: ServiceSpec,
    box: Box,
    { seconds, signal }: { readonly seconds: number; readonly signal: AbortSignal },
  ): Promise<void> {
    const until = performance.now() + seconds * 1000;
    let clearedBy = Infinity;
    for (;;) {
      const end = await this.#ask(() => readProgramEnd(this.engine, box.name));
      const now = performance.now();
      if (end !== null) {
        if (end.status !== 0) throw this.#ended(spec, end);
        if (end.isCleared || now > clearedBy) return;
        clearedBy = Math.min(clearedBy, now + clearMs);
      } else if (now > until) throw this.#outage(`The service ${spec.name} did not end in ${seconds} s.`);
      await sleep(pollMs, undefined, { signal });
    }
  }

  /** Throws EnvironmentOutage if a service has ended, which the agent cannot have caused yet. */
  async requireRunning(): Promise<void> {
    for (const [spec, end] of await this.#ends()) if (end !== null) throw this.#ended(spec, end);
  }

  /**
   * Throws EnvironmentOutage if the engine ended a service or the network. A service that ended by itself is left to the
   * verifier, because the agent may have ended it.
   */
  async requireIntact(): Promise<void> {
    for (const [spec, end] of await this.#ends()) if (end?.isOwn === false) throw this.#ended(spec, end);
    const began = await this.#ask(() => readProgramStart(this.engine, this.networkOf.name));
    if (began !== this.#networkBegan) throw this.#outage('The network of the machines has ended.');
  }

  /** How each service that should be running has ended, or null. */
  #ends(): Promise<readonly (readonly [ServiceSpec, BoxEnd | null])[]> {
    const lasting = this.#specs.filter(({ isPreparation }) => !isPreparation);
    return Promise.all(
      lasting.map(
        async (spec) => [spec, await this.#ask(() => readProgramEnd(this.engine, this.boxOf(spec.name).name))] as const,
      ),
    );
  }

  /**
   * Remembers the names on the network, before the agent begins. All machines read them from one file, which an engine
   * writes again whenever a machine begins or ends. So a part of the file may be all that there is for a moment.
   */
  async keepNames(): Promise<void> {
    for (let tries = 1; ; tries++) {
      const names = await this.#runInNetwork('cat /etc/hosts');
      const missing = this.#hosts.filter((host) => !hasName(names, host));
      if (missing.length === 0) {
        this.#names = names;
        return;
      }
      if (tries === mostTries) throw this.#outage(`The network has no machine with the name ${missing.join(', ')}.`);
      await sleep(pollMs);
    }
  }

  /** Writes the names again, because an agent with root can change them. */
  async restoreNames(): Promise<void> {
    const written = await this.#runInNetwork('printf %s "$1" > /etc/hosts && cat /etc/hosts', this.#names);
    if (written !== this.#names) throw this.#outage('The names of the machines were not written as a whole.');
  }

  /** Runs a command in the box whose programs no agent can change. */
  async #runInNetwork(script: string, argument = ''): Promise<string> {
    const limits = { user: 0, seconds: engineSeconds, outputCharacters: 100_000 };
    const result = await this.#ask(() => this.networkOf.exec(['/bin/sh', '-c', script, 'names', argument], limits));
    if (result.status === 0) return result.output;
    throw this.#outage(`The names of the machines cannot be kept: ${lastLineOf(result)}`);
  }

  boxOf(service: string): Box {
    const box = this.#boxes.get(service);
    if (box === undefined) throw new Error(`There is no service ${service}.`);
    return box;
  }

  /** Gives volumes the names that they have in the engine. */
  volumesOf(volumes: readonly BoxVolume[]): readonly BoxVolume[] {
    return volumes.map((volume) =>
      volume.name === null ? volume : { ...volume, name: this.#volumes.get(volume.name) ?? volume.name },
    );
  }

  /** Removes all boxes and volumes. The machine of the agent must be gone. */
  async remove(): Promise<void> {
    const boxes = await Promise.allSettled([...this.#boxes.values()].map((box) => box.remove()));
    const network = await Promise.allSettled([this.#network?.remove()]);
    const volumes = await Promise.allSettled(
      [...this.#volumes.values()].map((name) => removeVolume(this.engine, name)),
    );
    for (const result of [...boxes, ...network, ...volumes]) if (result.status === 'rejected') throw result.reason;
  }

  #ask<T>(work: () => Promise<T>): Promise<T> {
    return asOutage(this.engine.name, work);
  }

  #ended({ name }: ServiceSpec, { status, isOwn, said }: BoxEnd): EnvironmentOutage {
    const how = isOwn ? `ended with status ${status}` : 'was ended by the engine';
    return this.#outage(`The service ${name} ${how}${said === '' ? '' : `: ${said}`}.`);
  }

  #outage(what: string): EnvironmentOutage {
    return new EnvironmentOutage(`${what.replace(/\.$/, '')} (task ${this.#task.name}).`, {
      host: harborHostOf(this.#task),
    });
  }
}
