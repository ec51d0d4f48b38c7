/**
 * The caller's side of the protocol. It numbers the calls and requests in progress, and rejects all of them if the
 * worker ends unexpectedly. The worker keeps the process alive only while a call or a request is in progress.
 */

import { BackboneError, EngineError, toErrorMessage } from '@agentjet/core';
import type { Completion, GenerateRequest } from '@agentjet/core';
import { aborted, closed } from '../sampling/engine-errors.js';
import type { FromWorker, Method, Methods, StreamedToken, ToWorker } from './protocol.js';
import { unbundle } from './completion-bundle.js';
import { fromWireError } from './worker-error.js';

/** A Worker of worker_threads, or an object that behaves like one. */
export interface WorkerThread {
  postMessage(message: ToWorker): void;
  on(event: 'message', listener: (message: FromWorker) => void): unknown;
  on(event: 'error', listener: (error: unknown) => void): unknown;
  on(event: 'exit', listener: (exitCode: number) => void): unknown;
  ref(): void;
  unref(): void;
}

export type WorkerFacts = { readonly contextLength: number; readonly policyVersion: number };

type Settle<Output> = { readonly resolve: (output: Output) => void; readonly reject: (error: Error) => void };
type PendingCall = Settle<Completion> & {
  readonly request: GenerateRequest;
  readonly ids: number[];
  readonly logprobs: number[];
};

export class WorkerClient {
  readonly #worker: WorkerThread;
  readonly #calls = new Map<number, PendingCall>();
  readonly #requests = new Map<number, Settle<Methods[Method]['output']>>();
  readonly #start: Promise<WorkerFacts>;
  readonly #exit: Promise<void>;
  #onStart: Settle<WorkerFacts> | null = null;
  #numCalls = 0;
  #policyVersion = 0;
  #isClosed = false;
  /** The reason why the worker ended. It is undefined while the worker runs. */
  #death: { readonly cause: unknown } | null = null;
  readonly #gone = new AbortController();

  constructor(worker: WorkerThread) {
    this.#worker = worker;
    this.#start = new Promise((resolve, reject) => {
      this.#onStart = { resolve, reject };
    });
    this.#exit = new Promise((resolve) => {
      worker.on('exit', (exitCode) => {
        this.#die(new Error(`exit code ${exitCode}`));
        resolve();
      });
    });
    worker.on('error', (error) => this.#die(error));
    worker.on('message', (message) => this.#receive(message));
  }

  /** Aborts if the thread has ended without `close`. */
  get gone(): AbortSignal {
    return this.#gone.signal;
  }

  /** The values of the last answer. */
  get policyVersion(): number {
    return this.#policyVersion;
  }

  /** Rejects with the error that kept the backbone from opening. */
  async started(): Promise<WorkerFacts> {
    return await this.#start;
  }

  async generate(request: GenerateRequest): Promise<Completion> {
    const { promptIds, sampling, signal, onToken } = request;
    this.#refuse(
      () => closed(),
      (message, cause) => new EngineError('failed', message, { cause }),
    );
    if (signal?.aborted === true) throw aborted(signal);
    const call = this.#nextCall();
    const onAbort = (): void => this.#leave(call, 'abort')?.reject(aborted(signal));
    signal?.addEventListener('abort', onAbort, { once: true });
    try {
      return await new Promise((resolve, reject) => {
        this.#calls.set(call, { request, ids: [], logprobs: [], resolve, reject });
        this.#post({
          type: 'generate',
          call,
          promptIds: alone(promptIds),
          sampling,
          isStreamed: onToken !== undefined,
        });
      });
    } finally {
      signal?.removeEventListener('abort', onAbort);
    }
  }

  async request<M extends Method>(
    method: M,
    input: Methods[M]['input'],
    signal?: AbortSignal,
  ): Promise<Methods[M]['output']> {
    this.#refuse(
      () => new BackboneError('closed', 'The backbone is closed.'),
      (message, cause) => new BackboneError('failed', message, { cause }),
    );
    return await this.#ask(method, input, signal);
  }

  /** Ends the worker; calls in progress reject. */
  async close(): Promise<void> {
    const isFirst = !this.#isClosed;
    this.#isClosed = true;
    // The worker may end unexpectedly in the meantime. In that case it counts as closed.
    if (isFirst && this.#death === null) await this.#ask('close', null).catch(() => undefined);
    this.#worker.ref();
    await this.#exit;
  }

  async #ask<M extends Method>(
    method: M,
    input: Methods[M]['input'],
    signal?: AbortSignal,
  ): Promise<Methods[M]['output']> {
    const call = this.#nextCall();
    const onAbort = (): void => this.#worker.postMessage({ type: 'abort', call });
    signal?.addEventListener('abort', onAbort, { once: true });
    try {
      return await new Promise((resolve, reject) => {
        this.#requests.set(call, { resolve, reject });
        this.#post({ type: 'request', call, method, input } as ToWorker);
        if (signal?.aborted === true) onAbort();
      });
    } finally {
      signal?.removeEventListener('abort', onAbort);
    }
  }

  #nextCall(): number {
    this.#numCalls += 1;
    return this.#numCalls;
  }

  #post(message: ToWorker): void {
    this.#worker.ref();
    this.#worker.postMessage(message);
  }

  #refuse(toClosed: () => Error, toDead: (message: string, cause: unknown) => Error): void {
    if (this.#isClosed) throw toClosed();
    if (this.#death !== null) throw toDead(deathMessage(this.#death.cause), this.#death.cause);
  }

  #receive(message: FromWorker): void {
    if (message.type === 'news') {
      for (const token of message.tokens) this.#receiveToken(token);
      for (const { call, completion } of unbundle(message.completions)) this.#takeCall(call)?.resolve(completion);
      for (const { call, error } of message.errors) this.#takeCall(call)?.reject(fromWireError(error));
    } else if (message.type === 'reply') {
      this.#policyVersion = message.policyVersion;
      this.#takeRequest(message.call)?.resolve(message.output);
    } else if (message.type === 'refusal') {
      this.#takeRequest(message.call)?.reject(fromWireError(message.error));
    } else if (message.type === 'ready') {
      this.#policyVersion = message.policyVersion;
      this.#onStart?.resolve(message);
    } else {
      this.#onStart?.reject(fromWireError(message.error));
    }
    this.#unrefWhenIdle();
  }

  #receiveToken({ call, id, logprob, policyVersion }: StreamedToken): void {
    const pending = this.#calls.get(call);
    if (pending === undefined) return;
    pending.ids.push(id);
    pending.logprobs.push(logprob);
    try {
      if (pending.request.onToken?.(id, logprob) !== 'stop') return;
    } catch (error) {
      this.#leave(call, 'abort')?.reject(
        new EngineError('failed', `onToken threw: ${toErrorMessage(error)}`, { cause: error }),
      );
      return;
    }
    const [ids, logprobs] = [Int32Array.from(pending.ids), Float32Array.from(pending.logprobs)];
    this.#leave(call, 'stop')?.resolve({ ids, logprobs, finishReason: 'stop', policyVersion });
  }

  #takeCall(call: number): PendingCall | undefined {
    const pending = this.#calls.get(call);
    this.#calls.delete(call);
    return pending;
  }

  /** Removes a call before its end, here and in the worker. */
  #leave(call: number, type: 'abort' | 'stop'): PendingCall | undefined {
    const pending = this.#takeCall(call);
    if (pending !== undefined) this.#worker.postMessage({ type, call });
    this.#unrefWhenIdle();
    return pending;
  }

  #takeRequest(call: number): Settle<Methods[Method]['output']> | undefined {
    const pending = this.#requests.get(call);
    this.#requests.delete(call);
    return pending;
  }

  #die(cause: unknown): void {
    if (this.#death !== null) return;
    this.#death = { cause };
    const message = deathMessage(cause);
    this.#onStart?.reject(new BackboneError('failed', message, { cause }));
    for (const { reject } of this.#calls.values())
      reject(this.#isClosed ? closed() : new EngineError('failed', message, { cause }));
    for (const { reject } of this.#requests.values()) reject(new BackboneError('failed', message, { cause }));
    this.#calls.clear();
    this.#requests.clear();
    if (!this.#isClosed) this.#gone.abort(new BackboneError('failed', message, { cause }));
  }

  #unrefWhenIdle(): void {
    if (this.#calls.size === 0 && this.#requests.size === 0) this.#worker.unref();
  }
}

/** Returns the ids in a buffer without other content, because a clone of a view copies the whole buffer. */
export function alone(ids: Int32Array): Int32Array {
  return ids.byteLength === ids.buffer.byteLength ? ids : ids.slice();
}

function deathMessage(cause: unknown): string {
  return `The thread of the onnx backbone has died: ${toErrorMessage(cause)}. A training run continues from its last checkpoint with --resume.`;
}
