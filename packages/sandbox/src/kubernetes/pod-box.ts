import path from 'node:path';
import { pipeline, type Duplex, type Readable } from 'node:stream';
import type { Box, BoxNetwork } from '../box/box.js';
import { endClient, type BoxClient } from '../box/engine.js';
import { readResult, watchReport, type ExecOptions, type ExecResult } from '../box/exec-in-box.js';
import { forwardPort, type ForwardedPort } from '../box/forward-port.js';
import { forwarderCommand } from '../box/forwarders.js';
import { talkInBox, type BoxTalk, type TalkOptions } from '../box/talk-in-box.js';
import { TooLarge, WholeArchive } from '../box/tar.js';
import { SandboxError } from '../code-runner.js';
import { exitOf, lastLine } from '../process/watch-limits.js';
import { askCluster, findInCluster } from './ask-cluster.js';
import type { BoxCluster } from './cluster.js';
import { PodClient } from './pod-client.js';
import { boxContainer, policyOf } from './pod-spec.js';
import {
  execScript,
  frame,
  killAllScript,
  killGroupScript,
  lastFrame,
  offlineScript,
  packScript,
  scriptCommand,
  talkScript,
  unpackScript,
  words,
} from './pod-script.js';
import { removePod } from './remove-pod.js';

const ownSeconds = 60;
const copySeconds = 600;

export type PodIdentity = {
  readonly name: string;
  readonly uid: string;
  /** The numbers of the image's user and group. */
  readonly imageUser: string;
  readonly env: Readonly<Record<string, string>>;
};

/** A box that is a pod. Its first process is ours and remains; `stop` ends all others. */
export class PodBox implements Box {
  readonly name: string;
  readonly #cluster: BoxCluster;
  readonly #identity: PodIdentity;
  #network: BoxNetwork | undefined;
  #removal: Promise<void> | undefined;

  constructor(cluster: BoxCluster, identity: PodIdentity) {
    this.#cluster = cluster;
    this.#identity = identity;
    this.name = identity.name;
  }

  async exec(command: readonly string[], options: ExecOptions): Promise<ExecResult> {
    options.signal?.throwIfAborted();
    const { imageUser, env } = this.#identity;
    const all = { ...options, user: options.user ?? imageUser, env: { ...env, ...options.env } };
    const { script, mark } = execScript(command, all);
    const client = this.#start(script);
    if (options.stdin !== undefined) sendAll(client, [frame(options.stdin), lastFrame]);
    const endGroup = (pid: string): Promise<void> => this.#endGroup(pid, options.signal);
    const result = await readResult(client, options, { mark, name: 'kubernetes', endGroup });
    if (!result.hasReported && !(await this.isRunning()))
      throw new SandboxError('failed', `The box ${this.name} ended while a command was running in it.`);
    return result;
  }

  /** A command that is out of time was running until now. If it was not, the connection was lost before. */
  async #endGroup(pid: string, signal: AbortSignal | undefined): Promise<void> {
    try {
      await this.#run(killGroupScript(pid), 'end a command');
    } catch (error) {
      if (signal?.aborted !== true) throw error;
    }
  }

  talk(command: readonly string[], options: TalkOptions): BoxTalk {
    const { imageUser, env } = this.#identity;
    const all = { ...options, user: options.user ?? imageUser, env: { ...env, ...options.env } };
    const { script, mark } = talkScript(command, all);
    return talkInBox(this.#start(script), {
      mark,
      endGroup: (pid) => this.#run(killGroupScript(pid), 'end a command'),
    });
  }

  forward(accept: (stream: Duplex) => void): Promise<ForwardedPort> {
    return forwardPort(this.#start(`cd /; exec ${words(forwarderCommand())}`), accept);
  }

  async copyIn(archive: Readable, folder: string): Promise<void> {
    const { script, mark } = unpackScript(folder);
    const client = this.#start(script);
    let printed = '';
    client.stdout.setEncoding('utf8').on('data', (text: string) => (printed = (printed + text).slice(-2000)));
    const { report, ended, stop } = this.#watch(client, mark);
    try {
      await Promise.race([sendArchive(client, archive), ended]);
    } catch (error) {
      client.kill();
      if (client.broke === null) throw error;
    } finally {
      await ended;
      stop();
    }
    if (report.status !== 0)
      throw this.#failed(`unpack an archive in ${folder}`, printed || client.broke || report.other);
  }

  async copyOut<T>(file: string, read: (archive: Readable) => Promise<T>): Promise<T | null> {
    const { script, mark } = packScript(path.posix.dirname(file), path.posix.basename(file));
    const client = this.#start(script);
    const { report, ended, stop } = this.#watch(client, mark);
    const archive = pipeline(client.stdout, new WholeArchive(), () => undefined);
    try {
      const made = await read(archive);
      await ended;
      if (report.status === 0 && client.broke === null && archive.hasBytes) return made;
    } catch (error) {
      // Otherwise the archive is incomplete, and this error only follows from that.
      if (client.broke === null && (report.status ?? 0) === 0 && !report.isAbsent) {
        client.kill();
        if (error instanceof TooLarge || error instanceof SandboxError) throw error;
        throw this.#failed(`copy ${file} out of a box`, String(error));
      }
    } finally {
      stop();
    }
    await ended;
    if (report.isAbsent) return null;
    throw this.#failed(`copy ${file} out of a box`, client.broke ?? report.other);
  }

  async setNetwork(network: BoxNetwork): Promise<void> {
    if (network === this.#network) return;
    const { policies, namespace } = this.#cluster;
    const { name } = this;
    const body = policyOf(this.#cluster, name, network);
    if (this.#network !== undefined)
      await askCluster('change the network of a box', () =>
        policies.replaceNamespacedNetworkPolicy({ name, namespace, body }),
      );
    this.#network = undefined;
    if (network === 'none') await this.#requireOffline();
    this.#network = network;
  }

  /** Says which network the policy of a new box has. */
  async begin(network: BoxNetwork): Promise<void> {
    if (network === 'none') await this.#requireOffline();
    this.#network = network;
  }

  /** A cluster may have no plugin that enforces network policies. */
  async #requireOffline(): Promise<void> {
    const { status, said } = await this.#ask(offlineScript);
    if (status === 0) return;
    if (status !== 1) throw this.#failed('check the network of a box', said);
    throw new SandboxError(
      'failed',
      `The box ${this.name} reaches the API server, although its network policy allows nothing. Install a network plugin that enforces policies, such as Calico or Cilium.`,
    );
  }

  async isRunning(): Promise<boolean> {
    const { pods, namespace } = this.#cluster;
    const { name } = this;
    const pod = await findInCluster('find a box', () => pods.readNamespacedPod({ name, namespace }));
    if (pod === null || pod.metadata?.uid !== this.#identity.uid || pod.metadata.deletionTimestamp) return false;
    const { phase, conditions = [], containerStatuses = [] } = pod.status ?? {};
    const isReady = conditions.every(({ type, status }) => type !== 'Ready' || status === 'True');
    const box = containerStatuses.find((each) => each.name === boxContainer);
    return phase === 'Running' && isReady && box?.state?.running !== undefined;
  }

  async stop(): Promise<void> {
    await this.#run(killAllScript, `stop ${this.name}`);
  }

  async restart(): Promise<void> {
    await this.stop();
    if (!(await this.isRunning())) throw this.#failed('restart a box', `${this.name} is not running.`);
  }

  remove(): Promise<void> {
    this.#removal ??= removePod(this.#cluster, this.name, this.#identity.uid);
    return this.#removal;
  }

  #start(script: string): PodClient {
    const client = new PodClient(this.#cluster, this.name, scriptCommand(this.#cluster));
    client.stdin.write(frame(script));
    return client;
  }

  /** Runs a script of ours. Its status is an answer. */
  async #ask(script: string): Promise<{ readonly status: number; readonly said: string }> {
    const client = this.#start(script);
    client.stdout.resume();
    let said = '';
    client.stderr.setEncoding('utf8').on('data', (text: string) => (said = (said + text).slice(-2000)));
    const stop = endClient(client, { seconds: ownSeconds, signal: undefined });
    const { status } = await exitOf(client);
    if (stop() === 'time') throw this.#failed('run a script in a box', `it did not end in ${ownSeconds} s.`);
    if (status === null) throw this.#failed('run a script in a box', client.broke ?? said);
    return { status, said };
  }

  async #run(script: string, what: string): Promise<void> {
    const { status, said } = await this.#ask(script);
    if (status !== 0) throw this.#failed(what, said || `exit code ${status}`);
  }

  #watch(client: BoxClient, mark: string) {
    const report = watchReport(mark);
    client.stderr.setEncoding('utf8').on('data', (text: string) => report.read(text));
    const stop = endClient(client, { seconds: copySeconds, signal: undefined });
    return { report, ended: exitOf(client), stop };
  }

  #failed(what: string, why: string): SandboxError {
    return new SandboxError('failed', `kubernetes cannot ${what}: ${lastLine(why) || 'no answer'}`);
  }
}

function sendAll({ stdin }: BoxClient, parts: readonly Buffer[]): void {
  for (const part of parts) stdin.write(part);
}

const mostFrameBytes = 256 * 1024;

async function sendArchive({ stdin }: BoxClient, archive: Readable): Promise<void> {
  const send = (bytes: Buffer): Promise<void> =>
    new Promise((resolve, reject) =>
      stdin.write(bytes, (error) =>
        error ? reject(new SandboxError('failed', `kubernetes broke off: ${error.message}`)) : resolve(),
      ),
    );
  for await (const chunk of archive as AsyncIterable<Buffer>)
    for (let at = 0; at < chunk.length; at += mostFrameBytes)
      await send(frame(chunk.subarray(at, at + mostFrameBytes)));
  await send(lastFrame);
}
