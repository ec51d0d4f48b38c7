/** The worker's side of the protocol. It answers messages with a LocalOnnxBackbone. */

import type { GenerateRequest } from '@agentjet/core';
import type { LocalOnnxBackbone } from '../local-onnx-backbone.js';
import { bundle } from './completion-bundle.js';
import type { CallCompletion } from './completion-bundle.js';
import type { FromWorker, Method, Methods, StreamedToken, ToWorker, WorkerError } from './protocol.js';
import { toWorkerError } from './worker-error.js';

/** A MessagePort, or an object that behaves like one. */
export type Port = {
  postMessage(message: FromWorker): void;
  on(event: 'message', listener: (message: ToWorker) => void): unknown;
};

type Generate = ToWorker & { readonly type: 'generate' };
type Request = ToWorker & { readonly type: 'request' };

export class BackboneServer {
  readonly #backbone: LocalOnnxBackbone;
  readonly #port: Port;
  readonly #onClosed: () => void;
  readonly #controllers = new Map<number, AbortController>();
  /** Calls whose next token is their last. */
  readonly #stopped = new Set<number>();
  #tokens: StreamedToken[] = [];
  #completions: CallCompletion[] = [];
  #errors: { readonly call: number; readonly error: WorkerError }[] = [];
  #isSendingSoon = false;

  /** `onClosed` is called after a close request has been answered. */
  constructor(backbone: LocalOnnxBackbone, port: Port, onClosed: () => void) {
    this.#backbone = backbone;
    this.#port = port;
    this.#onClosed = onClosed;
  }

  start(): void {
    const { engine, policyVersion } = this.#backbone;
    this.#port.on('message', (message) => this.#receive(message));
    this.#port.postMessage({ type: 'ready', contextLength: engine.contextLength, policyVersion });
  }

  #receive(message: ToWorker): void {
    if (message.type === 'abort') return this.#controllers.get(message.call)?.abort();
    if (message.type === 'stop') return void this.#stopped.add(message.call);
    const controller = new AbortController();
    this.#controllers.set(message.call, controller);
    const work =
      message.type === 'generate'
        ? this.#generate(message, controller.signal)
        : this.#reply(message, controller.signal);
    void work.finally(() => {
      this.#controllers.delete(message.call);
      this.#stopped.delete(message.call);
    });
  }

  async #generate(message: Generate, signal: AbortSignal): Promise<void> {
    const { call, promptIds, sampling, isStreamed } = message;
    try {
      const completion = await this.#backbone.engine.generate({
        promptIds,
        sampling,
        signal,
        ...(isStreamed && { onToken: this.#streamTo(call) }),
      });
      this.#completions.push({ call, completion });
    } catch (error) {
      this.#errors.push({ call, error: toWorkerError(error) });
    }
    this.#sendSoon();
  }

  #streamTo(call: number): NonNullable<GenerateRequest['onToken']> {
    return (id, logprob) => {
      if (this.#stopped.has(call)) return 'stop';
      this.#tokens.push({ call, id, logprob, policyVersion: this.#backbone.engine.policyVersion });
      this.#sendSoon();
      return undefined;
    };
  }

  async #reply(request: Request, signal: AbortSignal): Promise<void> {
    const { call } = request;
    try {
      const output = await this.#answer(request, signal);
      this.#port.postMessage({ type: 'reply', call, output, policyVersion: this.#backbone.policyVersion });
      if (request.method === 'close') this.#onClosed();
    } catch (error) {
      this.#port.postMessage({ type: 'refusal', call, error: toWorkerError(error) });
    }
  }

  async #answer(request: Request, signal: AbortSignal): Promise<Methods[Method]['output']> {
    switch (request.method) {
      case 'trainStep':
        return await this.#backbone.trainStep(request.input, { signal });
      case 'termLogprobs':
        return await this.#backbone.termLogprobs(request.input.packs, request.input.temperature);
      case 'keptTokens':
        return await this.#backbone.keptTokens(request.input.packs, request.input.sampling);
      case 'logprobs':
        return await this.#backbone.logprobs(request.input);
      case 'save':
        return await nothing(this.#backbone.save(request.input));
      case 'load':
        return await nothing(this.#backbone.load(request.input));
      case 'close':
        return await nothing(this.#backbone.close());
    }
  }

  /**
   * Sends one message with all results of a step. The message is sent after the step's microtasks and before the next
   * step blocks the thread.
   */
  #sendSoon(): void {
    if (this.#isSendingSoon) return;
    this.#isSendingSoon = true;
    process.nextTick(() => this.#send());
  }

  #send(): void {
    const [tokens, completions, errors] = [this.#tokens, this.#completions, this.#errors];
    this.#tokens = [];
    this.#completions = [];
    this.#errors = [];
    this.#isSendingSoon = false;
    this.#port.postMessage({ type: 'news', tokens, completions: bundle(completions), errors });
  }
}

async function nothing(work: Promise<void>): Promise<null> {
  await work;
  return null;
}
