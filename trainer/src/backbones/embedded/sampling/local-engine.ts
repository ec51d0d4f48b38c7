/** core's Engine over a Scheduler in this thread: promises and abort signals on the outside, callbacks on the inside. */

import { EngineError } from '@agentjet/core';
import type { Completion, Engine, GenerateRequest } from '@agentjet/core';
import { checkRequest } from './check-request.js';
import { Scheduler } from './scheduler.js';
import type { SchedulerOptions, SchedulerStats } from './scheduler.js';
import type { StepModel } from './step-model.js';

export class LocalEngine implements Engine {
  readonly contextLength: number;
  readonly #vocabSize: number;
  readonly #scheduler: Scheduler;
  #isClosed = false;

  constructor(model: StepModel, options: SchedulerOptions, policyVersion = 0) {
    this.contextLength = model.contextLength;
    this.#vocabSize = model.vocabSize;
    this.#scheduler = new Scheduler(model, policyVersion, options);
  }

  get stats(): SchedulerStats {
    return this.#scheduler.stats;
  }

  async generate({ promptIds, sampling, signal, onToken }: GenerateRequest): Promise<Completion> {
    if (this.#isClosed) throw closed();
    if (signal?.aborted === true) throw aborted(signal);
    checkRequest(promptIds, sampling, { vocabSize: this.#vocabSize, contextLength: this.contextLength });
    return await withAbort(signal, (onDone, onError) =>
      this.#scheduler.submit({ promptIds: promptIds.slice(), sampling, onDone, onError, ...(onToken && { onToken }) }),
    );
  }

  /** New weights, of the same shape. Only while idle. */
  replaceModel(model: StepModel, policyVersion: number): void {
    this.#scheduler.replaceModel(model, policyVersion);
  }

  /** Gives all memory back that later calls could reuse. Only while idle. */
  reset(): void {
    this.#scheduler.reset();
  }

  /** Resolves when no call is left and no pass over the model is under way. */
  async whenIdle(): Promise<void> {
    await this.#scheduler.whenIdle();
  }

  /** Rejects whatever is left with `closed`. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#scheduler.failAll(closed());
    await this.#scheduler.whenIdle();
  }
}

type Start = (onDone: (completion: Completion) => void, onError: (error: EngineError) => void) => () => void;

/** A promise of what `start` calls back, rejected and cancelled at once when the signal aborts. */
async function withAbort(signal: AbortSignal | undefined, start: Start): Promise<Completion> {
  return await new Promise((resolve, reject) => {
    const cancel = start(
      (completion) => {
        signal?.removeEventListener('abort', onAbort);
        resolve(completion);
      },
      (error) => {
        signal?.removeEventListener('abort', onAbort);
        reject(error);
      },
    );
    const onAbort = (): void => {
      cancel();
      reject(aborted(signal));
    };
    signal?.addEventListener('abort', onAbort, { once: true });
  });
}

export function aborted(signal: AbortSignal | undefined): EngineError {
  return new EngineError('aborted', 'The call was aborted.', { cause: signal?.reason });
}

export function closed(): EngineError {
  return new EngineError('closed', 'The engine is closed.');
}
