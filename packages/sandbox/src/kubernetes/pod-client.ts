import { EventEmitter } from 'node:events';
import { Readable, Writable } from 'node:stream';
import { finished } from 'node:stream/promises';
import { isJsonObject, parseJsonObject, toErrorMessage } from '@agentjet/core';
import { WebSocket } from 'ws';
import type { BoxCluster } from './cluster.js';
import { boxContainer } from './pod-spec.js';

/**
 * A command in a pod, over the API server. It looks like a process of this machine: three streams, and events `exit` and
 * `close`. The status is null if the connection broke, and standard error then has the reason.
 */
export class PodClient extends EventEmitter {
  readonly stdin: Writable;
  readonly stdout: Readable;
  readonly stderr: Readable;
  /** Why the connection broke. Null if the command ended or `kill` was called. */
  broke: string | null = null;
  readonly #opened: Promise<WebSocket>;
  #hasEnded = false;
  #heardAt = performance.now();
  #isPaused = false;
  #timer: NodeJS.Timeout | undefined;

  constructor(cluster: BoxCluster, pod: string, command: readonly string[]) {
    super();
    const resume = (): void => void this.#opened.then((socket) => this.#resume(socket)).catch(() => undefined);
    this.stdout = new Readable({ read: resume });
    this.stderr = new Readable({ read: () => undefined });
    this.stdin = new Writable({ write: (chunk: Buffer, _, done) => void this.#send(chunk, done) });
    this.stdin.on('error', () => undefined);
    this.stdout.on('error', () => undefined);
    this.#opened = this.#open(cluster, pod, command);
    this.#opened.catch((error: unknown) => this.#break(toErrorMessage(error)));
  }

  /** Ends the connection. The command may run on. */
  kill(signal = 'SIGKILL'): boolean {
    this.#end(null, signal);
    return true;
  }

  async #open({ config, namespace }: BoxCluster, pod: string, command: readonly string[]): Promise<WebSocket> {
    const server = config.getCurrentCluster()?.server ?? '';
    const url = new URL(`${server.replace(/\/$/, '')}/api/v1/namespaces/${namespace}/pods/${pod}/exec`);
    url.protocol = url.protocol === 'https:' ? 'wss:' : 'ws:';
    for (const part of command) url.searchParams.append('command', part);
    for (const name of ['stdin', 'stdout', 'stderr']) url.searchParams.set(name, 'true');
    url.searchParams.set('container', boxContainer);
    const options = {};
    await config.applyToHTTPSOptions(options);
    const socket = new WebSocket(url, [protocol], { ...options, handshakeTimeout: handshakeSeconds * 1000 });
    this.#watch(socket);
    await new Promise((resolve, reject) => socket.once('open', resolve).once('error', reject));
    if (this.#hasEnded) socket.terminate();
    return socket;
  }

  #watch(socket: WebSocket): void {
    socket.on('message', (data: Buffer) => this.#read(socket, data));
    socket.on('pong', () => (this.#heardAt = performance.now()));
    socket.on('error', (error) => this.#break(error.message));
    socket.on('close', (code) => this.#break(`the connection was closed (${code})`));
    this.#timer = setInterval(() => this.#check(socket), pingSeconds * 1000).unref();
  }

  /** A node that was lost sends nothing any more, and its connection stays open. */
  #check(socket: WebSocket): void {
    if (this.#isPaused) this.#heardAt = performance.now();
    const silent = (performance.now() - this.#heardAt) / 1000;
    if (silent > silentSeconds) this.#break(`no sign of life in ${Math.round(silent)} s`);
    else if (socket.readyState === socket.OPEN) socket.ping();
  }

  #read(socket: WebSocket, data: Buffer): void {
    this.#heardAt = performance.now();
    const [channel] = data;
    const bytes = data.subarray(1);
    if (this.#hasEnded) return;
    if (channel === channels.status) this.#finish(bytes.toString());
    else if (channel === channels.stderr && bytes.length > 0) this.stderr.push(bytes);
    else if (channel === channels.stdout && bytes.length > 0 && !this.stdout.push(bytes)) {
      this.#isPaused = true;
      socket.pause();
    }
  }

  #resume(socket: WebSocket): void {
    if (!this.#isPaused) return;
    this.#isPaused = false;
    socket.resume();
  }

  async #send(chunk: Buffer, done: (error: Error | null) => void): Promise<void> {
    done(await this.#whyUnsent(chunk));
  }

  /** Sends bytes. Returns why that failed, or null. */
  async #whyUnsent(chunk: Buffer): Promise<Error | null> {
    try {
      const socket = await this.#opened;
      const bytes = Buffer.concat([Buffer.from([channels.stdin]), chunk]);
      return await new Promise((resolve) => socket.send(bytes, (error) => resolve(error ?? null)));
    } catch (error) {
      return error as Error;
    }
  }

  #finish(text: string): void {
    const status = exitStatusOf(text);
    if (typeof status === 'number') this.#end(status, null);
    else this.#break(status);
  }

  #break(why: string): void {
    if (this.#hasEnded) return;
    this.broke = why;
    this.stderr.push(`Error: ${why}\n`);
    this.#end(null, null);
  }

  #end(status: number | null, signal: string | null): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    clearInterval(this.#timer);
    this.#opened.then(
      (socket) => socket.terminate(),
      () => undefined,
    );
    if (this.broke === null) this.stdout.push(null);
    else this.stdout.destroy(new Error(this.broke));
    this.stderr.push(null);
    this.stdin.destroy();
    setImmediate(() => void this.#report(status, signal));
  }

  async #report(status: number | null, signal: string | null): Promise<void> {
    this.emit('exit', status, signal);
    await Promise.allSettled([this.stdout, this.stderr].map((stream) => finished(stream)));
    this.emit('close', status, signal);
  }
}

/** Version 5 could end standard input. Everything that we send is framed by its length, so version 4 is enough. */
const protocol = 'v4.channel.k8s.io';
const channels = { stdin: 0, stdout: 1, stderr: 2, status: 3 } as const;
const handshakeSeconds = 30;
const pingSeconds = 15;
const silentSeconds = 120;

/** Returns the exit code that the status object names, or why there is none. */
function exitStatusOf(text: string): number | string {
  const status = parseJsonObject(text);
  if (status?.['status'] === 'Success') return 0;
  const { details, reason, message } = status ?? {};
  const causes = isJsonObject(details) && Array.isArray(details['causes']) ? details['causes'] : [];
  const code = causes.filter(isJsonObject).find((cause) => cause['reason'] === 'ExitCode')?.['message'];
  if (reason === 'NonZeroExitCode' && code !== undefined) return Number(code);
  return typeof message === 'string' ? message : text.slice(0, 300);
}
