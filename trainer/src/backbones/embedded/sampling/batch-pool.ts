/**
 * Holds all running rows in batches by length, and limits their memory. The rows of one batch are padded to a common
 * length, and the padding takes time to read. Each additional batch needs a separate pass per token. A few short rows
 * therefore join a batch of longer rows, and many short rows get a separate batch.
 */

import { DecodeBatch } from './decode-batch.js';
import { kvBytesPerToken } from './step-model.js';
import type { StepShape } from './step-model.js';
import type { Sequence } from './sequence.js';

const shortestLimit = 128;

export class BatchPool {
  readonly maxBytes: number;
  readonly #passCost: number;
  /** Batches in order of row length, shortest first. */
  readonly #batches: readonly DecodeBatch[];

  /** The memory limit is raised to one row of the full context length, because one such row must always fit. */
  constructor({ kvShape, contextLength, passCost }: StepShape, maxBytes: number) {
    this.maxBytes = Math.max(maxBytes, 2 * contextLength * kvBytesPerToken(kvShape));
    this.#passCost = passCost;
    const limits: number[] = [];
    for (let limit = shortestLimit; limit < contextLength; limit *= 2) limits.push(limit, 1.5 * limit);
    this.#batches = [...limits.filter((limit) => limit < contextLength), contextLength].map(
      (maxLength) => new DecodeBatch(kvShape, { maxLength, maxBytes: this.maxBytes }),
    );
  }

  get batches(): readonly DecodeBatch[] {
    return this.#batches;
  }

  get numRows(): number {
    return this.#batches.reduce((total, batch) => total + batch.rows.length, 0);
  }

  get rows(): readonly Sequence[] {
    return this.#batches.flatMap((batch) => batch.rows);
  }

  get bytes(): number {
    return this.#batches.reduce((total, batch) => total + batch.kv.bytes, 0);
  }

  /** Returns the batch in which a row of this length costs least. */
  batchFor(length: number): DecodeBatch {
    const [own, ...longer] = this.#batches.filter(({ maxLength }) => length <= maxLength);
    if (own === undefined) throw new Error(`No batch holds ${length} tokens.`);
    const stride = Math.max(own.kv.stride, length);
    const shared = longer.find(
      ({ rows, kv }) => rows.length > 0 && (own.rows.length + 1) * (kv.stride - stride) <= this.#passCost,
    );
    return shared ?? own;
  }

  /** Finds a batch whose rows would cost less in a batch of longer rows. Returns both batches. */
  findMerge(): { readonly from: DecodeBatch; readonly into: DecodeBatch } | null {
    const filled = this.#batches.filter(({ rows }) => rows.length > 0);
    for (const [index, from] of filled.entries()) {
      const into = filled[index + 1];
      // Merging must save half of the cost. Otherwise batches that were just separated would be merged again at once.
      if (into !== undefined && 2 * from.rows.length * (into.kv.stride - from.kv.stride) <= this.#passCost)
        return { from, into };
    }
    return null;
  }

  /**
   * Makes room in the batch. Returns false if the limit forbids it. Batches without rows give up their memory first.
   */
  tryReserve(batch: DecodeBatch, numMore: number, length: number): boolean {
    if (!this.#fits(batch, numMore, length)) this.releaseEmpty();
    if (!this.#fits(batch, numMore, length)) return false;
    batch.reserve(numMore, length);
    return true;
  }

  /** Gives back the memory of batches without rows. */
  releaseEmpty(): void {
    for (const batch of this.#batches) if (batch.rows.length === 0) batch.kv.release();
  }

  #fits(batch: DecodeBatch, numMore: number, length: number): boolean {
    return this.bytes - batch.kv.bytes + batch.bytesWith(numMore, length) <= this.maxBytes;
  }
}
