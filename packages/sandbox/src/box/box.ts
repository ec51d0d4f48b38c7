import { randomUUID } from 'node:crypto';
import { pipeline, type Duplex, type Readable } from 'node:stream';
import { toErrorMessage } from '@agentjet/core';
import { SandboxError } from '../code-runner.js';
import { exitOf, lastLine } from '../process/watch-limits.js';
import { forgetImage } from './build-image.js';
import { askEngine, callEngine, checkRoom, endClient, spawnClient, type BoxEngine } from './engine.js';
import {
  endGroup,
  envArguments,
  execArguments,
  execInBox,
  hiddenOf,
  newMark,
  type ExecOptions,
  type ExecResult,
} from './exec-in-box.js';
import { forwardPort, type ForwardedPort } from './forward-port.js';
import { forwarderCommand } from './forwarders.js';
import { labelArguments, networkLabel, ownLabels } from './labels.js';
import { programArguments, readProgram, type BoxProgram } from './box-program.js';
import { removeBox } from './remove-box.js';
import { TooLarge, WholeArchive } from './tar.js';
import { talkInBox, talkingScript, type BoxTalk, type TalkOptions } from './talk-in-box.js';

/** A machine for one task: a container that lives across many commands. */

export type BoxNetwork = 'public' | 'none';

/** A folder of the box that is kept apart from its other files. */
export type BoxVolume = {
  /** The name of a volume that several boxes share. Null: the box has it alone. */
  readonly name: string | null;
  readonly path: string;
  readonly isReadOnly: boolean;
};

export type BoxOptions = {
  /** An image that the engine already has. */
  readonly image: string;
  /** For people who look at the engine: the run, the episode, the task. */
  readonly labels?: Readonly<Record<string, string>>;
  readonly env?: Readonly<Record<string, string>>;
  readonly cpus?: number | undefined;
  readonly memoryMegabytes?: number | undefined;
  /** Default: 4096. */
  readonly processes?: number;
  /** The networks that the box needs at any time of its life. `setNetwork` chooses among them. */
  readonly networks: readonly BoxNetwork[];
  /** The box ends after this time, even if this process no longer exists. */
  readonly lifeSeconds: number;
  /** An engine that pulls the image when the box starts may take this long. Default: 0. */
  readonly startSeconds?: number;
  readonly signal?: AbortSignal | undefined;
};

/** What containers can do and pods cannot. */
export type ContainerOptions = BoxOptions & {
  /** Another box whose network this box shares, with its loopback address and its names. It must live longer. */
  readonly networkOf?: Box | undefined;
  /** Further names of the loopback address. Boxes that share the network of this box have them, too. */
  readonly names?: readonly string[];
  /** A program of the image. The box ends when it ends. Default: the box waits for commands. */
  readonly program?: BoxProgram | undefined;
  /** A name or a number. Default: the user of the image. */
  readonly user?: string | undefined;
  /** Default: the folder of the image. */
  readonly workdir?: string | undefined;
  readonly volumes?: readonly BoxVolume[];
};

/** Every method rejects with SandboxError if the engine fails. */
export interface Box {
  readonly name: string;
  exec(command: readonly string[], options: ExecOptions): Promise<ExecResult>;
  /** Starts a command that the caller talks to over its standard input and output. */
  talk(command: readonly string[], options: TalkOptions): BoxTalk;
  /**
   * Opens a free port of the loopback address inside of the box, and calls `accept` with each connection to it. Nothing
   * else of this machine can be reached through it. Rejects with NoLanguage if the image cannot run a forwarder.
   */
  forward(accept: (stream: Duplex) => void): Promise<ForwardedPort>;
  /** Unpacks an archive in `folder`, which must exist. */
  copyIn(archive: Readable, folder: string): Promise<void>;
  /** Returns an archive of a file or folder, or null if the box does not have it. Also works after `stop`. */
  copyOut<T>(path: string, read: (archive: Readable) => Promise<T>): Promise<T | null>;
  /** Boxes that share a network have the same one at any time. */
  setNetwork(network: BoxNetwork): Promise<void>;
  isRunning(): Promise<boolean>;
  /** Ends every process. Files remain. */
  stop(): Promise<void>;
  /** Ends every process and starts the box again with its files. */
  restart(): Promise<void>;
  /** Removes the box. A second call does nothing. */
  remove(): Promise<void>;
}

const engineSeconds = 120;
const copySeconds = 600;

/** Starts a box as a container. */
export async function openContainer(engine: BoxEngine, options: ContainerOptions): Promise<Box> {
  checkRoom(engine);
  const name = `ajet-box-${randomUUID().slice(0, 13)}`;
  const { networks, networkOf, names = [], signal } = options;
  const isOnline = networks.includes('public');
  const box = new EngineBox(engine, { name, networkOf, isOnline: isOnline || names.length > 0 });
  try {
    const program = await readProgram(engine, options);
    await askEngine(engine, runArguments(engine, { ...options, name, program }), {
      seconds: engineSeconds,
      env: hiddenOf(options.env),
      signal,
    });
    // podman shares names only if the box has begun with a network.
    if (!isOnline && networkOf === undefined) await box.setNetwork('none');
  } catch (error) {
    forgetImage(engine, options.image);
    await box.remove().catch(() => undefined);
    throw error;
  }
  return box;
}

function runArguments(
  engine: BoxEngine,
  {
    name,
    program,
    ...options
  }: Omit<ContainerOptions, 'program'> & { readonly name: string; readonly program: readonly string[] | null },
): readonly string[] {
  const { image, labels = {}, env = {}, cpus, memoryMegabytes, processes = 4096, networkOf, lifeSeconds } = options;
  const memory =
    memoryMegabytes === undefined
      ? []
      : [`${memoryMegabytes}m`].flatMap((size) => ['--memory', size, '--memory-swap', size]);
  const place = networkOf === undefined ? {} : { [networkLabel]: networkOf.name };
  return [
    'run',
    '-d',
    '--name',
    name,
    '--pull',
    'never',
    ...labelArguments({ ...ownLabels(), ...place, ...labels }),
    ...networkArguments(engine, options),
    ...(cpus === undefined ? [] : ['--cpus', String(cpus)]),
    ...memory,
    '--pids-limit',
    String(processes),
    ...(options.user === undefined ? [] : ['--user', options.user]),
    ...(options.workdir === undefined ? [] : ['--workdir', options.workdir]),
    ...(options.volumes ?? []).flatMap((volume) => ['--volume', volumeText(volume)]),
    ...envArguments(env),
    ...(program === null
      ? [image, 'sh', '-c', `exec sleep ${Math.ceil(lifeSeconds)}`]
      : programArguments(image, program, lifeSeconds)),
  ];
}

function networkArguments(
  engine: BoxEngine,
  { networks, networkOf, names = [] }: Pick<ContainerOptions, 'networks' | 'networkOf' | 'names'>,
): readonly string[] {
  if (networkOf !== undefined) return ['--network', `container:${networkOf.name}`];
  if (names.length > 0)
    return ['--network', bridgeOf(engine), ...names.flatMap((name) => ['--add-host', `${name}:127.0.0.1`])];
  return networks.includes('public') ? [] : ['--network', 'none'];
}

const bridgeOf = ({ name }: BoxEngine): string => (name === 'podman' ? 'podman' : 'bridge');

const volumeText = ({ name, path, isReadOnly }: BoxVolume): string =>
  `${name === null ? '' : `${name}:`}${path}${isReadOnly ? ':ro' : ''}`;

/** podman says in these words that a path leads nowhere. It names a box whose files it cannot mount in the same way. */
const leadsNowhere =
  /could not be found on container .*(no such file or directory|not a directory|too many levels of symbolic links|file name too long)$/i;
const isNotMounted = /mounting (storage|container)/i;

/** Whether an engine says that a box does not have a file. */
const saysAbsent = (why: string): boolean =>
  (leadsNowhere.test(why) && !isNotMounted.test(why)) || /could not find the file /i.test(why); // docker

class EngineBox implements Box {
  readonly name: string;
  readonly #engine: BoxEngine;
  readonly #networkOf: Box | undefined;
  #isOnline: boolean;
  #removal: Promise<void> | undefined;

  constructor(
    engine: BoxEngine,
    { name, networkOf, isOnline }: { name: string; networkOf: Box | undefined; isOnline: boolean },
  ) {
    this.#engine = engine;
    this.name = name;
    this.#networkOf = networkOf;
    this.#isOnline = isOnline;
  }

  async exec(command: readonly string[], options: ExecOptions): Promise<ExecResult> {
    checkRoom(this.#engine);
    const result = await execInBox(this.#engine, this.name, command, options);
    if (!result.hasReported && !(await this.isRunning()))
      throw new SandboxError('failed', `The box ${this.name} ended while a command was running in it.`);
    checkRoom(this.#engine);
    return result;
  }

  talk(command: readonly string[], options: TalkOptions): BoxTalk {
    const mark = newMark();
    const args = execArguments(this.name, command, { ...options, hasInput: true, script: talkingScript, mark });
    const client = spawnClient(this.#engine, args, { env: hiddenOf(options.env), hasInput: true });
    return talkInBox(client, { mark, endGroup: (pid) => endGroup(this.#engine, this.name, pid) });
  }

  forward(accept: (stream: Duplex) => void): Promise<ForwardedPort> {
    const args = ['exec', '-i', '--user', '0', '--workdir', '/', this.name, ...forwarderCommand()];
    return forwardPort(spawnClient(this.#engine, args, { hasInput: true }), accept);
  }

  async copyIn(archive: Readable, folder: string): Promise<void> {
    checkRoom(this.#engine);
    // podman would give the files to the user of the image.
    const owner = this.#engine.name === 'podman' ? ['--archive=false'] : [];
    const broken = new Promise<never>((_, reject) => archive.once('error', reject));
    const copied = this.#ask(['cp', ...owner, '-', `${this.name}:${folder}`], { seconds: copySeconds, stdin: archive });
    await Promise.race([copied, broken]);
  }

  async copyOut<T>(path: string, read: (archive: Readable) => Promise<T>): Promise<T | null> {
    const client = spawnClient(this.#engine, ['cp', `${this.name}:${path}`, '-'], { hasInput: false });
    let said = '';
    client.stderr.setEncoding('utf8').on('data', (text: string) => (said = (said + text).slice(-2000)));
    const exited = exitOf(client).finally(endClient(client, { seconds: copySeconds, signal: undefined }));
    const archive = pipeline(client.stdout, new WholeArchive(), () => undefined);
    try {
      const made = await read(archive);
      if ((await exited).status === 0 && archive.hasBytes) return made;
    } catch (error) {
      const isReaders = error instanceof TooLarge || error instanceof SandboxError;
      if (isReaders) client.kill('SIGKILL');
      const { status } = await exited;
      if (isReaders && (status === 0 || status === null)) throw error;
      if (status === 0) said = toErrorMessage(error);
    }
    return this.#absent(path, said, (await exited).signal);
  }

  /** Returns null if the engine said that the box does not have the file. Throws for every other reason. */
  async #absent(path: string, said: string, signal: string | null): Promise<null> {
    const why = lastLine(said) || (signal === null ? 'no answer' : `its client got ${signal}`);
    if (saysAbsent(why) && (await this.#exists())) return null;
    throw new SandboxError('failed', `${this.#engine.name} cannot copy ${path} out of a box: ${why}`);
  }

  async setNetwork(network: BoxNetwork): Promise<void> {
    if (this.#networkOf !== undefined) return this.#networkOf.setNetwork(network);
    const isOnline = network === 'public';
    if (isOnline === this.#isOnline) return;
    await this.#ask(['network', isOnline ? 'connect' : 'disconnect', bridgeOf(this.#engine), this.name]);
    this.#isOnline = isOnline;
  }

  async isRunning(): Promise<boolean> {
    const { status, stdout } = await this.#call(['container', 'inspect', '--format', '{{.State.Running}}', this.name]);
    return status === 0 && stdout.trim() === 'true';
  }

  async #exists(): Promise<boolean> {
    return (await this.#call(['container', 'inspect', '--format', '{{.State.Running}}', this.name])).status === 0;
  }

  async stop(): Promise<void> {
    await this.#ask(['stop', '-t', '0', this.name]);
    if (await this.isRunning()) throw new SandboxError('failed', `${this.#engine.name} did not stop ${this.name}.`);
  }

  async restart(): Promise<void> {
    await this.stop();
    await this.#ask(['start', this.name]);
  }

  remove(): Promise<void> {
    this.#removal ??= removeBox(this.#engine, this.name);
    return this.#removal;
  }

  #ask(args: readonly string[], call: { readonly seconds?: number; readonly stdin?: Readable } = {}): Promise<string> {
    return askEngine(this.#engine, args, { seconds: engineSeconds, ...call });
  }

  #call(args: readonly string[]) {
    return callEngine(this.#engine, args, { seconds: engineSeconds });
  }
}
