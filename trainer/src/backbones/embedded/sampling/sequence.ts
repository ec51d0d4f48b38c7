/**
 * A call in the scheduler: its prompt, the tokens sampled so far, and the batch and row that hold its keys and values.
 */

import type { Completion, CompletionTiming, EngineError, TokenSampling } from '@agentjet/core';
import type { DecodeBatch } from './decode-batch.js';
import { toInverseTemperature } from './sampler.js';
import type { SampledToken } from './sampler.js';

/** A call with synchronous callbacks. Exactly one of onDone and onError is called, unless the call is cancelled. */
export type Job = {
  readonly promptIds: Int32Array;
  readonly sampling: TokenSampling;
  readonly onToken?: (id: number, logprob: number) => 'stop' | undefined;
  /** The arrival time of the call, by the scheduler's clock. */
  readonly askedAt: number;
  readonly onDone: (completion: Completion) => void;
  readonly onError: (error: EngineError) => void;
};

export class Sequence {
  readonly job: Job;
  /** The number of the call. Older calls have lower numbers. */
  readonly arrival: number;
  readonly inverseTemperature: number;
  /** The number of tokens whose keys and values are stored. */
  kvLength = 0;
  /** The call has finished, failed or been cancelled. It leaves its row as soon as no pass is in progress. */
  isOver = false;
  /** The batch of the call and its row there, while the call runs. */
  place: { readonly batch: DecodeBatch; row: number } | null = null;
  /** The times when its prompt was first read and when its first token was drawn. Each is null until then. */
  startedAt: number | null = null;
  firstTokenAt: number | null = null;
  readonly #maxLength: number;
  #ids: Int32Array;
  #logprobs: Float32Array;
  #length: number;

  constructor(job: Job, arrival: number, contextLength: number) {
    this.job = job;
    this.arrival = arrival;
    this.inverseTemperature = toInverseTemperature(job.sampling.temperature);
    this.#length = job.promptIds.length;
    this.#maxLength = Math.min(contextLength, this.#length + job.sampling.maxTokens);
    this.#ids = new Int32Array(Math.min(this.#maxLength, this.#length + 64));
    this.#ids.set(job.promptIds);
    this.#logprobs = new Float32Array(this.#ids.length - this.#length);
  }

  /** The number of prompt and sampled tokens. */
  get length(): number {
    return this.#length;
  }

  get numSampled(): number {
    return this.#length - this.job.promptIds.length;
  }

  /** The number of tokens that must still go through the model before the next one can be drawn. */
  get numPending(): number {
    return this.#length - this.kvLength;
  }

  /** Shape [length], a view. */
  get ids(): Int32Array {
    return this.#ids.subarray(0, this.#length);
  }

  idAt(index: number): number {
    return this.#ids[index] ?? 0;
  }

  /** Returns why the call ends with this token, or null if it continues. */
  push({ id, logprob }: SampledToken): Completion['finishReason'] | null {
    if (this.#length === this.#ids.length) this.#grow();
    this.#logprobs[this.numSampled] = logprob;
    this.#ids[this.#length] = id;
    this.#length += 1;
    if (this.job.onToken?.(id, logprob) === 'stop' || this.job.sampling.stopIds.includes(id)) return 'stop';
    return this.#length === this.#maxLength ? 'length' : null;
  }

  toCompletion(finishReason: Completion['finishReason'], policyVersion: number, now: number): Completion {
    const ids = this.#ids.slice(this.job.promptIds.length, this.#length);
    const logprobs = this.#logprobs.slice(0, this.numSampled);
    return { ids, logprobs, finishReason, policyVersion, timing: this.#timingAt(now) };
  }

  #timingAt(now: number): CompletionTiming {
    const { startedAt, firstTokenAt } = this;
    const began = startedAt ?? now;
    const first = firstTokenAt ?? now;
    return { queuedMs: began - this.job.askedAt, prefillMs: first - began, decodeMs: now - first };
  }

  #grow(): void {
    const [ids, logprobs] = [this.#ids, this.#logprobs];
    this.#ids = new Int32Array(Math.min(this.#maxLength, 2 * ids.length));
    this.#ids.set(ids);
    this.#logprobs = new Float32Array(this.#ids.length - this.job.promptIds.length);
    this.#logprobs.set(logprobs);
  }
}

/** Returns whether both begin with the same `length` tokens, and the first one is longer than that. */
export function sharesPrefix(sequence: Sequence, other: Sequence, length: number): boolean {
  if (sequence.length <= length || other.length < length) return false;
  for (let index = 0; index < length; index += 1) if (sequence.idAt(index) !== other.idAt(index)) return false;
  return true;
}

/** Returns whether the sequence is among the rows that still read prompts. */
export function isReading({ place }: Sequence): boolean {
  return place !== null && place.row >= place.batch.numDecoding;
}
