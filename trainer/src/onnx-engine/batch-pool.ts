/**
 * All running rows, in one batch per length class, and the memory they may take together. Rows of one class are padded
 * to a common length; classes keep one very long row from stretching all others.
 */

import { RowBatch } from './row-batch.js';
import { kvBytesPerToken } from './step-model.js';
import type { StepModel } from './step-model.js';
import type { Sequence } from './sequence.js';

/** Length limits of the classes: this, then four times that, and so on up to the context length. */
const shortestClass = 512;

export class BatchPool {
  readonly maxBytes: number;
  readonly #batches: readonly RowBatch[];

  /** The limit is raised to one row of the full context length, which must always fit. */
  constructor({ kvShape, contextLength }: StepModel, maxBytes: number) {
    this.maxBytes = Math.max(maxBytes, 2 * contextLength * kvBytesPerToken(kvShape));
    const limits: number[] = [];
    for (let limit = shortestClass; limit < contextLength; limit *= 4) limits.push(limit);
    this.#batches = [...limits, contextLength].map((limit) => new RowBatch(kvShape, limit));
  }

  get batches(): readonly RowBatch[] {
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

  /** The batch for rows of this length. */
  batchFor(length: number): RowBatch {
    const batch = this.#batches.find(({ maxLength }) => length <= maxLength);
    if (batch === undefined) throw new Error(`No batch holds ${length} tokens.`);
    return batch;
  }

  /** Makes room in the batch; false where the limit forbids it. Batches without rows give their memory up first. */
  tryReserve(batch: RowBatch, numMore: number, length: number): boolean {
    if (!this.#fits(batch, numMore, length)) this.#releaseEmpty();
    if (!this.#fits(batch, numMore, length)) return false;
    batch.reserve(numMore, length);
    return true;
  }

  #fits(batch: RowBatch, numMore: number, length: number): boolean {
    return this.bytes - batch.kv.bytes + batch.bytesWith(numMore, length) <= this.maxBytes;
  }

  #releaseEmpty(): void {
    for (const batch of this.#batches) if (batch.rows.length === 0) batch.kv.release();
  }
}
