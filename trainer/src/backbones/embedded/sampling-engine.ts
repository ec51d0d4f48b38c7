/** An engine over weights that may change under it: opens a session for the present weights when the next call needs one. */

import { EngineError, rejectOnAbort, toErrorMessage } from '@agentjet/core';
import type { Completion, Engine, GenerateRequest } from '@agentjet/core';
import { checkRequest } from './sampling/check-request.js';
import { aborted, closed, LocalEngine } from './sampling/local-engine.js';
import type { SchedulerOptions, SchedulerStats } from './sampling/scheduler.js';
import type { StepSession, StepSessionFactory } from './sampling/step-session.js';
import { WeightsGate } from './weights-gate.js';

/** The weights as they are now; the array may be live. */
export type WeightsSource = () => { readonly weights: Float32Array; readonly policyVersion: number };

export class SamplingEngine implements Engine {
  readonly contextLength: number;
  readonly #factory: StepSessionFactory;
  readonly #source: WeightsSource;
  readonly #options: SchedulerOptions;
  readonly #gate = new WeightsGate();
  #engine: LocalEngine | null = null;
  #session: StepSession | null = null;
  /** The engine over the present weights; null when they have changed since. */
  #current: Promise<LocalEngine> | null = null;
  #policyVersion = 0;
  #isClosed = false;

  constructor(factory: StepSessionFactory, source: WeightsSource, options: SchedulerOptions) {
    this.contextLength = factory.contextLength;
    this.#factory = factory;
    this.#source = source;
    this.#options = options;
  }

  /** Of the weights that the last call sampled from. */
  get policyVersion(): number {
    return this.#policyVersion;
  }

  /** Null before the first call. */
  get stats(): SchedulerStats | null {
    return this.#engine?.stats ?? null;
  }

  async generate(request: GenerateRequest): Promise<Completion> {
    const { promptIds, sampling, signal } = request;
    if (this.#isClosed) throw closed();
    if (signal?.aborted === true) throw aborted(signal);
    checkRequest(promptIds, sampling, this.#factory);
    const completion = this.#gate.sample(async () => (await this.#freshEngine()).generate(request));
    return await rejectOnAbort(completion, signal, () => aborted(signal));
  }

  /** Runs `work`, which may change the weights, when no completion is under way; later calls sample from the new ones. */
  async changeWeights<Result>(work: () => Promise<Result>): Promise<Result> {
    return await this.#gate.change(async () => {
      // An aborted call has settled while its last pass may still run.
      await this.#engine?.whenIdle();
      this.#engine?.reset();
      this.#current = null;
      return await work();
    });
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#current?.catch(() => undefined);
    await this.#engine?.close();
    await this.#session?.close();
    this.#session = null;
  }

  #freshEngine(): Promise<LocalEngine> {
    if (this.#isClosed) throw closed();
    this.#current ??= this.#open();
    return this.#current;
  }

  /** Nothing samples meanwhile: all calls since the change wait for this. */
  async #open(): Promise<LocalEngine> {
    try {
      await this.#session?.close();
      this.#session = null;
      const { weights, policyVersion } = this.#source();
      this.#session = await this.#factory.open(weights);
      this.#policyVersion = policyVersion;
      if (this.#engine === null) this.#engine = new LocalEngine(this.#session, this.#options, policyVersion);
      else this.#engine.replaceModel(this.#session, policyVersion);
      return this.#engine;
    } catch (error) {
      this.#current = null;
      throw new EngineError('failed', `The sampling session could not be opened: ${toErrorMessage(error)}`, {
        cause: error,
      });
    }
  }
}
