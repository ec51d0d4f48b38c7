import type { Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';

import { BackboneError } from '@agentjet/core';

import { type FrameReader, writeFrame } from './frames.js';
import { parseWorkerMessage, toFloat32, toInt32, type ReadyMessage, type WorkerMessage } from './messages.js';
import type { WorkerProcess } from './worker-process.js';

export type WatchOptions = {
  /** The name for messages: "torch" makes "The torch worker ...". */
  readonly name: string;
  /** If a worker sends no message for this long, it counts as hung. */
  readonly heartbeatTimeoutMs: number;
  /**
   * If calls wait and a worker that still sends heartbeats has made no progress for this long, the worker counts as
   * stuck.
   */
  readonly stallTimeoutMs: number;
};

export type TokenListener = (id: number, logprob: number) => void;

type Waiting = {
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: Error) => void;
  readonly onToken: TokenListener | undefined;
};

/** The worker's description of a failure. The caller turns it into an EngineError or a BackboneError. */
export type CallFailure = (code: string, message: string) => Error;

/** The wait for the last message of a worker whose process has ended. */
const lastWordsMs = 1000;

const toBackboneError: CallFailure = (code, message) => new BackboneError(code, message);

/**
 * Makes calls to one worker over one socket. If the worker ends, hangs or breaks the protocol, every waiting and every
 * later call rejects with one BackboneError that has the worker's last log lines.
 */
export class WorkerConnection {
  readonly #socket: Socket;
  readonly #process: WorkerProcess;
  readonly #watch: WatchOptions;
  readonly #waiting = new Map<number, Waiting>();
  readonly #timer: NodeJS.Timeout;
  readonly ready: Promise<ReadyMessage>;
  readonly #gone = new AbortController();
  #settleReady:
    | { readonly resolve: (message: ReadyMessage) => void; readonly reject: (error: Error) => void }
    | undefined;
  #failure: BackboneError | undefined;
  #closing = false;
  #isReady = false;
  #nextId = 1;
  #lastBeat = Date.now();
  #lastMove = Date.now();
  #doing = 'start';
  #count = -1;

  constructor(socket: Socket, process: WorkerProcess, watch: WatchOptions) {
    this.#socket = socket;
    this.#process = process;
    this.#watch = watch;
    this.ready = new Promise((resolve, reject) => {
      this.#settleReady = { resolve, reject };
    });
    this.ready.catch(() => undefined);
    this.#timer = setInterval(() => this.#checkLife(), Math.max(50, Math.min(1000, watch.heartbeatTimeoutMs / 4)));
    this.#timer.unref();
    // The last message of a worker may say why it ends, so it is read before calls reject.
    const told = new Promise((resolve) => socket.once('close', resolve));
    void process.ended.then(async (how) => {
      await Promise.race([told, delay(lastWordsMs, undefined, { ref: false })]);
      this.#noteEnd(how);
    });
  }

  /** Aborts if the worker has ended without `close`, with the error that calls reject with. */
  get gone(): AbortSignal {
    return this.#gone.signal;
  }

  /** Starts to read messages, first from the bytes that arrived together with hello. */
  listen(reader: FrameReader, early: readonly unknown[]): void {
    this.#handleAll(() => early);
    this.#socket.on('data', (chunk) => this.#handleAll(() => reader.push(chunk)));
    this.#socket.on('error', () => undefined);
    this.#socket.resume();
  }

  send(message: Readonly<Record<string, unknown>>): Promise<void> {
    return writeFrame(this.#socket, message);
  }

  /** Makes one request and returns its one answer. An abort is sent to the worker, which answers with `aborted`. */
  async call(
    message: Readonly<Record<string, unknown>>,
    options: {
      readonly signal?: AbortSignal | undefined;
      readonly onToken?: TokenListener;
      readonly toError?: CallFailure;
    } = {},
  ): Promise<unknown> {
    const toError = options.toError ?? toBackboneError;
    if (options.signal?.aborted === true) throw toError('aborted', 'The call was aborted before it began.');
    if (this.#failure !== undefined) throw this.#failure;
    if (this.#closing) throw toError('closed', `The ${this.#watch.name} backbone is closed.`);
    const id = this.#nextId++;
    const answer = new Promise<unknown>((resolve, reject) => {
      this.#waiting.set(id, {
        resolve,
        reject: (error) => reject(error instanceof WorkerFailure ? toError(error.code, error.message) : error),
        onToken: options.onToken,
      });
    });
    if (this.#waiting.size === 1) this.#lastMove = Date.now();
    const onAbort = (): void => this.abort(id);
    options.signal?.addEventListener('abort', onAbort, { once: true });
    try {
      await this.send({ ...message, id }).catch(() => undefined);
      return await answer;
    } finally {
      options.signal?.removeEventListener('abort', onAbort);
    }
  }

  /** Asks the worker to drop a call. */
  abort(id: number): void {
    void this.send({ kind: 'abort', id }).catch(() => undefined);
  }

  /**
   * Drops a call whose answer is no longer needed. The worker frees the slot, and the promise resolves with `value`.
   */
  settle(onToken: TokenListener, value: unknown): void {
    for (const [id, waiting] of this.#waiting) {
      if (waiting.onToken !== onToken) continue;
      this.#waiting.delete(id);
      waiting.resolve(value);
      this.abort(id);
    }
  }

  /** Asks the worker to end, and kills it if it does not. */
  async close(graceMs: number): Promise<void> {
    if (this.#closing) return;
    this.#closing = true;
    clearInterval(this.#timer);
    this.#rejectAll(
      new WorkerFailure('closed', `The ${this.#watch.name} backbone was closed while the call was in progress.`),
    );
    await this.send({ kind: 'close' }).catch(() => undefined);
    const timer = setTimeout(() => this.#process.kill('SIGKILL'), graceMs);
    await this.#process.ended;
    clearTimeout(timer);
    this.#socket.destroy();
  }

  #handleAll(read: () => readonly unknown[]): void {
    try {
      for (const message of read()) this.#handle(parseWorkerMessage(message));
    } catch (error) {
      this.#fail(
        'protocol',
        `The ${this.#watch.name} worker broke the protocol: ${error instanceof Error ? error.message : String(error)}`,
      );
      this.#process.kill('SIGKILL');
    }
  }

  #handle(message: WorkerMessage): void {
    this.#lastBeat = Date.now();
    if (message.kind === 'heartbeat') this.#noteProgress(message.doing, message.count);
    else if (message.kind === 'ready') this.#noteReady(message);
    else if (message.kind === 'failed') this.#end(new BackboneError(message.code, message.message));
    else if (message.kind === 'tokens') this.#deliverTokens(message.id, message.ids, message.logprobs);
    else if (message.kind === 'result') this.#take(message.id)?.resolve(message.value);
    else if (message.kind === 'error') this.#take(message.id)?.reject(new WorkerFailure(message.code, message.message));
  }

  #noteReady(message: ReadyMessage): void {
    this.#isReady = true;
    this.#settleReady?.resolve(message);
  }

  #take(id: number): Waiting | undefined {
    const waiting = this.#waiting.get(id);
    this.#waiting.delete(id);
    this.#lastMove = Date.now();
    return waiting;
  }

  #deliverTokens(id: number, idBytes: Uint8Array, logprobBytes: Uint8Array): void {
    const logprobs = toFloat32(logprobBytes);
    for (const [index, token] of toInt32(idBytes).entries())
      this.#waiting.get(id)?.onToken?.(token, logprobs[index] ?? 0);
  }

  #noteProgress(doing: string, count: number): void {
    if (count !== this.#count) this.#lastMove = Date.now();
    this.#doing = doing;
    this.#count = count;
  }

  #checkLife(): void {
    const now = Date.now();
    const silent = now - this.#lastBeat;
    const stalled = now - this.#lastMove;
    if (silent > this.#watch.heartbeatTimeoutMs) {
      this.#fail(
        'worker_hung',
        `The ${this.#watch.name} worker sent no message for ${Math.round(silent / 1000)} s (its last task was "${this.#doing}"), so it was ended.`,
      );
    } else if (this.#waiting.size > 0 && stalled > this.#watch.stallTimeoutMs) {
      this.#fail(
        'worker_hung',
        `The ${this.#watch.name} worker is alive, but its task "${this.#doing}" has made no progress for ${Math.round(stalled / 1000)} s, so it was ended.`,
      );
    } else return;
    this.#process.kill('SIGKILL');
  }

  #noteEnd(how: string): void {
    const { name } = this.#watch;
    const words = this.#process.lastWords();
    if (words === undefined) this.#fail('worker_died', `The ${name} worker ${how}.`);
    else this.#end(new BackboneError(words.code, `The ${name} worker ended. ${words.message}${this.#wayOn()}`));
  }

  #wayOn(): string {
    return this.#isReady ? ' A training run continues from its last checkpoint with --resume.' : '';
  }

  #fail(code: string, what: string): void {
    const lines = this.#process.lastLines();
    const repair = this.#wayOn();
    this.#end(
      new BackboneError(code, `${what}${repair}${lines === '' ? ' It wrote no log.' : ` Its last lines:\n${lines}`}`),
    );
  }

  #end(error: BackboneError): void {
    if (this.#closing || this.#failure !== undefined) return;
    clearInterval(this.#timer);
    this.#failure = error;
    this.#settleReady?.reject(error);
    this.#rejectAll(error);
    this.#gone.abort(error);
  }

  #rejectAll(error: Error): void {
    const waiting = [...this.#waiting.values()];
    this.#waiting.clear();
    for (const { reject } of waiting) reject(error);
  }
}

class WorkerFailure extends Error {
  readonly code: string;

  constructor(code: string, message: string) {
    super(message);
    this.code = code;
  }
}
