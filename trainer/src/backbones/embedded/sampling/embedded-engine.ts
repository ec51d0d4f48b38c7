/**
 * Implements core's Engine over a Scheduler in this thread. The weights may change between calls: the first call after
 * a change opens a session over the new weights, and a change waits for earlier calls. Callers get promises and abort
 * signals; the scheduler uses callbacks.
 */

import { EngineError, rejectOnAbort, toErrorMessage } from '@agentjet/core';
import type { Completion, Engine, GenerateRequest } from '@agentjet/core';
import { checkRequest } from './check-request.js';
import { aborted, closed } from './engine-errors.js';
import { Scheduler } from './scheduler.js';
import type { SchedulerOptions, SchedulerStats } from './scheduler.js';
import type { Job } from './sequence.js';
import type { StepModel, StepShape } from './step-model.js';
import { WeightsGate } from './weights-gate.js';

/** The present weights, ready to sample from. */
export type OpenWeights = { readonly model: StepModel; readonly policyVersion: number; close(): Promise<void> };

export type WeightsSource = { readonly shape: StepShape; open(): Promise<OpenWeights> };

export class EmbeddedEngine implements Engine {
  readonly #source: WeightsSource;
  readonly #clock: () => number;
  readonly #scheduler: Scheduler;
  readonly #gate = new WeightsGate();
  #weights: OpenWeights | null = null;
  #policyVersion = 0;
  /**
   * Resolves when a session over the present weights is open. Null if the weights have changed since the last session
   * was opened.
   */
  #opening: Promise<void> | null = null;
  #isClosed = false;

  /** `clock` returns milliseconds. */
  constructor(source: WeightsSource, options: SchedulerOptions, clock: () => number = () => performance.now()) {
    this.#source = source;
    this.#clock = clock;
    this.#scheduler = new Scheduler(source.shape, options, clock);
  }

  get contextLength(): number {
    return this.#source.shape.contextLength;
  }

  /** The version of the weights that the last call sampled from. */
  get policyVersion(): number {
    return this.#policyVersion;
  }

  get stats(): SchedulerStats {
    return this.#scheduler.stats;
  }

  async generate({ promptIds, sampling, signal, onToken }: GenerateRequest): Promise<Completion> {
    if (this.#isClosed) throw closed();
    if (signal?.aborted === true) throw aborted(signal);
    checkRequest(promptIds, sampling, this.#source.shape);
    const request = { promptIds: promptIds.slice(), sampling, askedAt: this.#clock(), ...(onToken && { onToken }) };
    const completion = this.#gate.sample(async () => {
      await this.#openWeights();
      return await this.#submit(request, signal);
    });
    return await rejectOnAbort(completion, signal, () => aborted(signal));
  }

  /**
   * Runs `work`, which may change the weights, while no completion is in progress. Later calls sample from the new
   * weights.
   */
  async changeWeights<Result>(work: () => Promise<Result>): Promise<Result> {
    return await this.#gate.change(async () => {
      // Wait, because the last pass of an aborted call may still run after the call has settled.
      await this.#scheduler.whenIdle();
      this.#scheduler.reset();
      this.#opening = null;
      // Close the session first, because its copy of the weights and the memory of a step would add up.
      await this.#closeWeights();
      return await work();
    });
  }

  /** Resolves when all calls have ended and no pass over the model is in progress. */
  async whenIdle(): Promise<void> {
    await this.#scheduler.whenIdle();
  }

  /** Rejects the remaining calls with `closed`. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#opening?.catch(() => undefined);
    this.#scheduler.failAll(closed());
    await this.#scheduler.whenIdle();
    await this.#closeWeights();
  }

  async #closeWeights(): Promise<void> {
    const weights = this.#weights;
    this.#weights = null;
    await weights?.close();
  }

  #openWeights(): Promise<void> {
    if (this.#isClosed) throw closed();
    this.#opening ??= this.#open();
    return this.#opening;
  }

  /**
   * Opens a session over the present weights. No call samples in the meantime, because all calls since the change wait
   * for this promise.
   */
  async #open(): Promise<void> {
    try {
      const weights = await this.#source.open();
      this.#weights = weights;
      this.#policyVersion = weights.policyVersion;
      this.#scheduler.use(weights.model, weights.policyVersion);
    } catch (error) {
      this.#opening = null;
      throw new EngineError('failed', `The sampling session could not be opened: ${toErrorMessage(error)}`, {
        cause: error,
      });
    }
  }

  /** Rejects and frees the row as soon as the signal aborts. */
  async #submit(request: Omit<Job, 'onDone' | 'onError'>, signal: AbortSignal | undefined): Promise<Completion> {
    if (this.#isClosed) throw closed();
    if (signal?.aborted === true) throw aborted(signal);
    return await new Promise((resolve, reject) => {
      const cancel = this.#scheduler.submit({
        ...request,
        onDone: (completion) => {
          signal?.removeEventListener('abort', onAbort);
          resolve(completion);
        },
        onError: (error) => {
          signal?.removeEventListener('abort', onAbort);
          reject(error);
        },
      });
      const onAbort = (): void => {
        cancel();
        reject(aborted(signal));
      };
      signal?.addEventListener('abort', onAbort, { once: true });
    });
  }
}
