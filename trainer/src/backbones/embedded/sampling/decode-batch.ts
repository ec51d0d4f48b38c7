/**
 * Sequences that run together in one KvBatch. Rows [0, numDecoding) sample, and the other rows still read their
 * prompts. This class leaves no empty rows between others, and updates `place` of each sequence that moves.
 */

import { KvBatch } from './kv-batch.js';
import type { KvShape } from './step-model.js';
import type { Sequence } from './sequence.js';

export class DecodeBatch {
  readonly kv: KvBatch;
  /** The maximum length of a row in this batch. */
  readonly maxLength: number;
  readonly #rows: Sequence[] = [];
  #numDecoding = 0;

  /** The keys and values of the batch can take at most `maxBytes`. */
  constructor(shape: KvShape, { maxLength, maxBytes }: { readonly maxLength: number; readonly maxBytes: number }) {
    this.kv = new KvBatch(shape, maxBytes);
    this.maxLength = maxLength;
  }

  get rows(): readonly Sequence[] {
    return this.#rows;
  }

  get numDecoding(): number {
    return this.#numDecoding;
  }

  get decoding(): readonly Sequence[] {
    return this.#rows.slice(0, this.#numDecoding);
  }

  get prefilling(): readonly Sequence[] {
    return this.#rows.slice(this.#numDecoding);
  }

  /** Returns the number of bytes after this many rows are added and every row has room for `length` tokens. */
  bytesWith(numMore: number, length: number): number {
    const { capacity, stride } = this.#sizeFor(numMore, length);
    return this.kv.bytesAfter(capacity, stride);
  }

  /** Makes room for rows of `length`, and for this many additional rows. Shrinks buffers that are far too long. */
  reserve(numMore: number, length: number): void {
    const { capacity, stride } = this.#sizeFor(numMore, length);
    if (capacity <= this.kv.capacity && stride === this.kv.stride) return;
    this.kv.resize(
      capacity,
      stride,
      this.#rows.map((row) => row.kvLength),
    );
  }

  /** Adds a sequence after all others. Reserve the room first. */
  add(sequence: Sequence): number {
    const row = this.#rows.length;
    this.#rows.push(sequence);
    sequence.place = { batch: this, row };
    return row;
  }

  remove(sequence: Sequence): void {
    const hole = this.#rowOf(sequence);
    sequence.place = null;
    const last = this.#rows.length - 1;
    if (hole >= this.#numDecoding) return this.#drop(hole, last);
    this.#numDecoding -= 1;
    this.#move(this.#numDecoding, hole);
    this.#drop(this.#numDecoding, last);
  }

  /** Moves the sequence to the rows that sample, because its prompt is read. */
  startDecoding(sequence: Sequence): void {
    this.#swap(this.#rowOf(sequence), this.#numDecoding);
    this.#numDecoding += 1;
  }

  /** Puts sequences that still read their prompt directly after those that sample. Returns them in their new order. */
  arrange(sequences: readonly Sequence[]): readonly Sequence[] {
    const end = this.#numDecoding + sequences.length;
    const outside = sequences.filter((sequence) => this.#rowOf(sequence) >= end);
    const displaced = this.#rows.slice(this.#numDecoding, end).filter((sequence) => !sequences.includes(sequence));
    for (const [index, sequence] of outside.entries())
      this.#swap(this.#rowOf(sequence), displaced[index]?.place?.row ?? 0);
    return this.#rows.slice(this.#numDecoding, end);
  }

  #sizeFor(numMore: number, length: number): { readonly capacity: number; readonly stride: number } {
    const numRows = this.#rows.length + numMore;
    const longest = this.#rows.reduce((most, row) => Math.max(most, row.length), length);
    const stride = roundStride(longest);
    const isFitting = stride <= this.kv.stride && 2 * stride > this.kv.stride;
    const capacity = isFitting && numRows <= this.kv.capacity ? this.kv.capacity : roundRows(numRows);
    return { capacity, stride: isFitting ? this.kv.stride : stride };
  }

  #rowOf(sequence: Sequence): number {
    if (sequence.place?.batch !== this) throw new Error('A sequence was looked up in a batch it is not in.');
    return sequence.place.row;
  }

  #drop(hole: number, last: number): void {
    this.#move(last, hole);
    this.#rows.length = last;
  }

  #move(from: number, to: number): void {
    const sequence = this.#rows[from];
    if (from === to || sequence === undefined) return;
    this.kv.moveRow(from, to, sequence.kvLength);
    this.#put(sequence, to);
  }

  #swap(left: number, right: number): void {
    const [atLeft, atRight] = [this.#rows[left], this.#rows[right]];
    if (left === right || atLeft === undefined || atRight === undefined) return;
    this.kv.swapRows(left, right, Math.max(atLeft.kvLength, atRight.kvLength));
    this.#put(atLeft, right);
    this.#put(atRight, left);
  }

  #put(sequence: Sequence, row: number): void {
    this.#rows[row] = sequence;
    sequence.place = { batch: this, row };
  }
}

/**
 * Sizes grow in steps of 32 up to 256, and then in four steps per power of two. At most a quarter of a row is therefore
 * unused.
 */
function roundStride(length: number): number {
  const step = length <= 256 ? 32 : 2 ** (Math.floor(Math.log2(length - 1)) - 2);
  return Math.max(step, Math.ceil(length / step) * step);
}

function roundRows(numRows: number): number {
  return 2 ** Math.ceil(Math.log2(Math.max(1, numRows)));
}
