/**
 * Does continuous batching: calls join and leave the running batch between any two tokens. Each step admits waiting
 * calls, reads a bounded piece of the prompts, and draws one token for every row whose prompt is read. A call keeps the
 * keys and values of its row in a KvBatch, and the prefix cache gets them when the call ends. If memory runs out, the
 * youngest call returns to the queue, and its tokens are computed again later. The sampled tokens do not depend on any
 * of this. The scheduler has no code for threads or weights.
 */

import { EngineError, toErrorMessage } from '@agentjet/core';
import type { Completion } from '@agentjet/core';
import { BatchPool } from './batch-pool.js';
import type { FreshTokens } from './kv-batch.js';
import { chooseLeader, planPrefill } from './prefill-plan.js';
import { PrefixCache } from './prefix-cache.js';
import { recomputeDistribution } from './recompute-distribution.js';
import type { DecodeBatch } from './decode-batch.js';
import { drawToken, noiseOf } from './sampler.js';
import type { SampledToken } from './sampler.js';
import { isReading, Sequence, sharesPrefix } from './sequence.js';
import type { Job } from './sequence.js';
import { StepInputBuilder } from './step-input.js';
import type { StepModel, StepShape } from './step-model.js';

export type SchedulerOptions = {
  /** The largest number of calls that run at once; others wait. */
  readonly maxBatchSize: number;
  /**
   * The largest number of prompt tokens, padding included, that one step reads. It bounds how long running calls wait
   * for new ones.
   */
  readonly prefillTokens: number;
  /**
   * The maximum size of the running calls' keys and values, in bytes. It is raised if a single full row would not fit.
   */
  readonly maxKvBytes: number;
  /** The maximum size of the prefix cache, in bytes. 0 turns the cache off. */
  readonly maxPrefixCacheBytes: number;
};

/** Counters since the engine was opened. `running`, `waiting` and the bytes are present values. */
export type SchedulerStats = {
  readonly running: number;
  readonly waiting: number;
  readonly decodeSteps: number;
  readonly decodedTokens: number;
  readonly prefilledTokens: number;
  /** Prompt tokens taken from the prefix cache. */
  readonly reusedTokens: number;
  readonly preemptions: number;
  /**
   * The number of draws for which the row was computed again without other rows, because rounding could have changed
   * the token.
   */
  readonly closeDraws: number;
  readonly kvBytes: number;
  readonly prefixCacheBytes: number;
};

/** The output of a pass, and the row of a call in it. */
type RowOutput = {
  readonly probabilities: Float32Array;
  readonly fresh: Omit<FreshTokens, 'width'> | null;
  readonly row: number;
  readonly width: number;
};

/** A prompt waits while another prompt is read if they share at least this many tokens. */
const minShared = 16;

export class Scheduler {
  readonly #options: SchedulerOptions;
  readonly #pool: BatchPool;
  readonly #prefixCache: PrefixCache;
  readonly #input = new StepInputBuilder();
  readonly #clock: () => number;
  readonly #shape: StepShape;
  #model: StepModel | null = null;
  #policyVersion = 0;
  #waiting: Sequence[] = [];
  /** Rows whose last token could depend on rounding. Empty between two passes. */
  readonly #undecided: Sequence[] = [];
  #running: Promise<void> | null = null;
  #arrivals = 0;
  #turn = 0;
  readonly #counts = {
    decodeSteps: 0,
    decodedTokens: 0,
    prefilledTokens: 0,
    reusedTokens: 0,
    preemptions: 0,
    closeDraws: 0,
  };

  /** `clock` returns milliseconds. */
  constructor(shape: StepShape, options: SchedulerOptions, clock: () => number) {
    this.#clock = clock;
    this.#shape = shape;
    this.#options = options;
    this.#pool = new BatchPool(shape, options.maxKvBytes);
    this.#prefixCache = new PrefixCache(shape.kvShape, options.maxPrefixCacheBytes);
  }

  get numCalls(): number {
    return this.#waiting.length + this.#pool.numRows;
  }

  get stats(): SchedulerStats {
    const { bytes: kvBytes, numRows: running } = this.#pool;
    return {
      running,
      waiting: this.#waiting.length,
      kvBytes,
      prefixCacheBytes: this.#prefixCache.bytes,
      ...this.#counts,
    };
  }

  /** Samples from this model from now on. Call it only if no call is in progress. */
  use(model: StepModel, policyVersion: number): void {
    this.reset();
    this.#model = model;
    this.#policyVersion = policyVersion;
  }

  /** Starts a call. The request must be valid. The returned function cancels the call without a callback. */
  submit(job: Job): () => void {
    const sequence = new Sequence(job, this.#arrivals, this.#shape.contextLength);
    this.#arrivals += 1;
    this.#waiting.push(sequence);
    this.#running ??= this.#run();
    return () => {
      sequence.isOver = true;
      this.#waiting = this.#waiting.filter((other) => other !== sequence);
    };
  }

  /** Discards computed values and frees the memory. Call it only if no call is in progress. */
  reset(): void {
    if (this.numCalls > 0) throw new Error('The engine was reset while calls were running.');
    this.#prefixCache.clear();
    this.#pool.releaseEmpty();
  }

  /** Resolves when all calls have ended and no pass over the model is in progress. */
  async whenIdle(): Promise<void> {
    await this.#running;
  }

  /** Rejects all waiting and running calls. */
  failAll(error: EngineError): void {
    const sequences = [...this.#waiting, ...this.#pool.rows];
    this.#waiting = [];
    for (const sequence of sequences) this.#fail(sequence, error);
  }

  async #run(): Promise<void> {
    // Waits for the end of the event loop's turn, so that all calls made in it start together.
    await new Promise(setImmediate);
    while (this.numCalls > 0) {
      try {
        await this.#step();
      } catch (error) {
        this.failAll(
          new EngineError('failed', `The model could not be run: ${toErrorMessage(error)}`, { cause: error }),
        );
        this.#sweep();
      }
    }
    this.#running = null;
  }

  async #step(): Promise<void> {
    this.#sweep();
    this.#mergeBatches();
    this.#admit();
    await this.#prefill();
    for (const batch of this.#pool.batches) await this.#decode(batch);
  }

  /** Removes ended calls from their batches. No pass over these calls may be in progress. */
  #sweep(): void {
    // The loop starts at the end, so only rows of running calls move into gaps.
    for (const sequence of this.#pool.rows.toReversed()) if (sequence.isOver) sequence.place?.batch.remove(sequence);
  }

  #admit(): void {
    for (const [index, sequence] of this.#waiting.entries()) {
      if (this.#pool.numRows >= this.#options.maxBatchSize) break;
      const match = this.#prefixCache.matchLength(sequence.ids, sequence.length - 1);
      if (this.#isWorthWaiting(sequence, match) || (index > 0 && this.#isBusyBefore(sequence.length - match))) continue;
      if (!this.#start(sequence)) break;
    }
    this.#waiting = this.#waiting.filter(({ place }) => place === null);
  }

  /**
   * Returns whether prompts with at most this many pending tokens already fill the next pass. If they do, the call
   * needs no row yet.
   */
  #isBusyBefore(numPending: number): boolean {
    const pending = this.#pool.batches.flatMap(({ prefilling }) => prefilling.map((sequence) => sequence.numPending));
    const sooner = pending.filter((count) => count <= numPending).reduce((sum, count) => sum + count, 0);
    return sooner >= this.#options.prefillTokens;
  }

  /**
   * Returns whether the call should wait because another prompt of about the same length is being read. The cache will
   * soon have a large part of this prompt.
   */
  #isWorthWaiting(sequence: Sequence, match: number): boolean {
    if (this.#options.maxPrefixCacheBytes === 0) return false;
    const pending = sequence.length - match;
    const saved = Math.max(minShared, pending / 4);
    const isSibling = (other: Sequence): boolean =>
      other.numPending <= 2 * pending && sharesPrefix(sequence, other, match + saved);
    return this.#pool.batches.some(({ prefilling }) => prefilling.some(isSibling));
  }

  /** Gives a waiting call a row. Returns false if memory does not allow it now. */
  #start(sequence: Sequence): boolean {
    const length = Math.min(sequence.length + 1, this.#shape.contextLength);
    const batch = this.#pool.batchFor(length);
    if (!this.#pool.tryReserve(batch, 1, length)) return false;
    const row = batch.add(sequence);
    sequence.startedAt ??= this.#clock();
    for (const { kv, count } of this.#prefixCache.match(sequence.ids, sequence.length - 1).pieces) {
      batch.kv.writeSegment(row, sequence.kvLength, kv, count);
      sequence.kvLength += count;
    }
    this.#counts.reusedTokens += sequence.kvLength;
    return true;
  }

  async #prefill(): Promise<void> {
    const leader = chooseLeader(
      this.#pool.batches.flatMap(({ prefilling }) => prefilling),
      this.#turn,
    );
    const batch = leader?.place?.batch;
    if (leader === undefined || batch === undefined) return;
    this.#turn += 1;
    const plan = planPrefill(leader, batch.prefilling, this.#options.prefillTokens);
    const items = batch.arrange(plan.items);
    await this.#pass(batch, items, plan.width);
    for (const sequence of items) if (isReading(sequence) && sequence.numPending <= 1) batch.startDecoding(sequence);
  }

  async #decode(batch: DecodeBatch): Promise<void> {
    this.#moveOverlong(batch);
    this.#makeRoomToGrow(batch);
    if (batch.numDecoding === 0) return;
    this.#counts.decodeSteps += 1;
    await this.#pass(batch, batch.decoding, 1);
  }

  /** Moves short rows to a batch of longer rows if only few of them are left. */
  #mergeBatches(): void {
    const merge = this.#pool.findMerge();
    if (merge === null || merge.from.prefilling.length > 0) return;
    const { from, into } = merge;
    const longest = from.rows.reduce((most, { length }) => Math.max(most, length), 0);
    if (!this.#pool.tryReserve(into, from.rows.length, longest)) return;
    for (const sequence of from.decoding) moveSequence(sequence, into);
  }

  /** Moves rows that have become too long for their batch to another batch. */
  #moveOverlong(batch: DecodeBatch): void {
    for (const sequence of batch.decoding) {
      if (sequence.kvLength < batch.maxLength) continue;
      const next = this.#pool.batchFor(sequence.length);
      if (this.#tryReserveByPreempting(next, 1, sequence)) moveSequence(sequence, next);
    }
  }

  #makeRoomToGrow(batch: DecodeBatch): void {
    const longest = batch.decoding.reduce((most, sequence) => Math.max(most, sequence.length), 0);
    const oldest = chooseLeader(batch.decoding, 0);
    if (oldest !== undefined) this.#tryReserveByPreempting(batch, 0, oldest, longest);
  }

  /** Sends the youngest calls back to the queue until there is room. Returns false if `kept` itself was sent back. */
  #tryReserveByPreempting(batch: DecodeBatch, numMore: number, kept: Sequence, length = kept.length): boolean {
    while (!this.#pool.tryReserve(batch, numMore, length)) {
      const youngest = this.#pool.rows.reduce((last, row) => (row.arrival > last.arrival ? row : last), kept);
      this.#preempt(youngest);
      if (youngest === kept) return false;
    }
    return true;
  }

  #preempt(sequence: Sequence): void {
    this.#remember(sequence);
    sequence.place?.batch.remove(sequence);
    sequence.kvLength = 0;
    this.#waiting.unshift(sequence);
    this.#counts.preemptions += 1;
  }

  /**
   * Runs one forward pass over up to `width` pending tokens of each of the sequences, which are adjacent in the batch.
   */
  async #pass(batch: DecodeBatch, sequences: readonly Sequence[], width: number): Promise<void> {
    const start = sequences[0]?.place?.row ?? 0;
    const output = await this.#opened().run(this.#input.build(batch, { start, end: start + sequences.length }, width));
    const fresh = output.fresh && { values: output.fresh, numRows: sequences.length };
    for (const [row, sequence] of sequences.entries())
      this.#receive(sequence, { probabilities: output.probabilities, fresh, row, width });
    for (const sequence of this.#undecided.splice(0)) await this.#decide(sequence);
    this.#sweep();
  }

  /**
   * Draws a token. Rows that run at the same time change a row's probabilities slightly. If this could change the drawn
   * token, the row is computed again without other rows, and the token is drawn from the result.
   */
  async #decide(sequence: Sequence): Promise<void> {
    this.#counts.closeDraws += 1;
    const probabilities = await recomputeDistribution(this.#opened(), this.#input, sequence);
    if (probabilities !== null)
      this.#accept(sequence, drawToken(probabilities, sequence.job.sampling, sequence.numSampled));
  }

  #receive(sequence: Sequence, { row, width, fresh, ...output }: RowOutput): void {
    const { place } = sequence;
    const { vocabSize } = this.#shape;
    const probabilities = output.probabilities.subarray(row * vocabSize, (row + 1) * vocabSize);
    if (sequence.isOver || place === null) return;
    // This check comes before the values are stored. A NaN in the row would also make the results of the next call in
    // that row NaN, even if its tokens are not visible.
    if (!Number.isFinite(probabilities[0])) return this.#fail(sequence, new EngineError('failed', brokenWeights));
    const count = Math.min(width, sequence.numPending);
    if (fresh !== null) place.batch.kv.append(place.row, sequence.kvLength, { ...fresh, width }, { row, count });
    sequence.kvLength += count;
    this.#counts[isReading(sequence) ? 'prefilledTokens' : 'decodedTokens'] += count;
    if (isReading(sequence) && sequence.numPending <= 1) this.#remember(sequence);
    if (sequence.numPending === 0) this.#draw(sequence, probabilities);
  }

  #draw(sequence: Sequence, probabilities: Float32Array): void {
    const { sampling } = sequence.job;
    const draw = drawToken(probabilities, sampling, sequence.numSampled, noiseOf(sampling));
    if (draw?.isClear === false) this.#undecided.push(sequence);
    else this.#accept(sequence, draw);
  }

  #accept(sequence: Sequence, draw: SampledToken | undefined): void {
    if (draw === undefined) return this.#fail(sequence, new EngineError('failed', brokenWeights));
    sequence.firstTokenAt ??= this.#clock();
    const finishReason = this.#push(sequence, draw);
    if (finishReason === null || sequence.isOver) return;
    this.#remember(sequence);
    sequence.isOver = true;
    sequence.job.onDone(sequence.toCompletion(finishReason, this.#policyVersion, this.#clock()));
  }

  #opened(): StepModel {
    if (this.#model === null) throw new Error('The engine was asked to sample before it had a model.');
    return this.#model;
  }

  /** A callback that throws ends only its own call. */
  #push(sequence: Sequence, draw: SampledToken): Completion['finishReason'] | null {
    try {
      return sequence.push(draw);
    } catch (error) {
      this.#fail(sequence, new EngineError('failed', `onToken threw: ${toErrorMessage(error)}`, { cause: error }));
      return null;
    }
  }

  /** Puts the sequence's keys and values into the prefix cache. */
  #remember(sequence: Sequence): void {
    const { place } = sequence;
    if (place === null) return;
    this.#prefixCache.insert(sequence.ids, sequence.kvLength, (start, end) =>
      place.batch.kv.readSegment(place.row, start, end),
    );
  }

  #fail(sequence: Sequence, error: EngineError): void {
    if (sequence.isOver) return;
    sequence.isOver = true;
    sequence.job.onError(error);
  }
}

const brokenWeights =
  'The model computed probabilities that are not numbers. Its weights contain NaN or infinite values, or its computation overflows. Load an earlier checkpoint, and train with a lower learning rate.';

function moveSequence(sequence: Sequence, target: DecodeBatch): void {
  const { place } = sequence;
  if (place === null) return;
  const source = place.batch.kv.readSegment(place.row, 0, sequence.kvLength);
  place.batch.remove(sequence);
  target.kv.writeSegment(target.add(sequence), 0, source, sequence.kvLength);
  target.startDecoding(sequence);
}
