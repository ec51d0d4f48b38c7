/**
 * Holds the keys and values of rows that run together. Each of the 2 * numLayers buffers is [row][kv
 * head][stride][headDim]. Rows are adjacent, so consecutive rows are one view without a copy. Rows [0, numDecoding)
 * sample, and the other rows still read their prompts. The first `length` tokens of a row are stored. Later values are
 * finite, and attention never reads them. This class has no requests: a row is an index, and the caller decides which
 * request has the row.
 */

import { ResizableFloats } from './resizable-floats.js';
import type { KvShape } from './step-model.js';
import { kvBytesPerToken } from './step-model.js';

/** The new rows of one forward pass: shape [2 * numLayers, numRows, numKvHeads, width, headDim]. */
export type FreshTokens = { readonly values: Float32Array; readonly numRows: number; readonly width: number };

/** A stretch of tokens outside of any batch: shape [2 * numLayers, numKvHeads, numTokens, headDim]. */
export type KvSegment = { readonly values: Float32Array; readonly numTokens: number };

/** A buffer keeps its size if it is larger than necessary by at most this factor. */
const maxSlack = 4;

type Views = { readonly start: number; readonly end: number; readonly views: readonly Float32Array[] };

export class KvBatch {
  readonly shape: KvShape;
  #stride = 0;
  readonly #memory: readonly ResizableFloats[];
  #buffers: readonly Float32Array[];
  #scratch = new Float32Array(0);
  #lastViews: Views | undefined;

  /** The buffers can take at most `maxBytes` together. */
  constructor(shape: KvShape, maxBytes: number) {
    this.shape = shape;
    const maxLength = Math.ceil(maxBytes / (2 * shape.numLayers) / Float32Array.BYTES_PER_ELEMENT);
    this.#memory = Array.from({ length: 2 * shape.numLayers }, () => new ResizableFloats(maxLength));
    this.#buffers = this.#memory.map(({ values }) => values);
  }

  /** Room per row, in tokens. */
  get stride(): number {
    return this.#stride;
  }

  get bytes(): number {
    return this.#buffers.reduce((total, buffer) => total + buffer.byteLength, 0);
  }

  /** Returns the bytes that the buffers take after such a `resize`. */
  bytesAfter(capacity: number, stride: number): number {
    const bytes = capacity * stride * kvBytesPerToken(this.shape);
    return this.bytes >= bytes && this.bytes <= maxSlack * bytes ? this.bytes : bytes;
  }

  /** Makes room for `capacity` rows of `stride` tokens, and keeps the first lengths[r] tokens of the rows. */
  resize(capacity: number, stride: number, lengths: readonly number[]): void {
    const size = capacity * this.#rowSize(stride);
    for (const memory of this.#memory) {
      const { length } = memory.values;
      if (length < size) memory.resize(size);
      this.#restride(memory.values, stride, lengths);
      if (length > maxSlack * size) memory.resize(size);
    }
    this.#buffers = this.#memory.map(({ values }) => values);
    this.#stride = stride;
    this.#lastViews = undefined;
  }

  /** Frees the memory. Call it only if there are no rows. */
  release(): void {
    for (const memory of this.#memory) memory.resize(0);
    this.#buffers = this.#memory.map(({ values }) => values);
    this.#stride = 0;
    this.#lastViews = undefined;
  }

  /** The number of rows that fit at the present stride. */
  get capacity(): number {
    const [first] = this.#buffers;
    return this.#stride === 0 || first === undefined ? 0 : Math.floor(first.length / this.#rowSize(this.#stride));
  }

  /** Views of rows [start, end). Until the buffers change, the same rows give the same array. */
  views(start: number, end: number): readonly Float32Array[] {
    const last = this.#lastViews;
    if (last?.start === start && last.end === end) return last.views;
    const size = this.#rowSize(this.#stride);
    const views = this.#buffers.map((buffer) => buffer.subarray(start * size, end * size));
    this.#lastViews = { start, end, views };
    return views;
  }

  /** Overwrites the first `length` tokens of row `to` with those of row `from`. */
  moveRow(from: number, to: number, length: number): void {
    this.#eachHead((buffer, _, head) => {
      const source = this.#offset(from, head);
      buffer.copyWithin(this.#offset(to, head), source, source + length * this.shape.headDim);
    });
  }

  /** Exchanges the first `length` tokens of two rows. */
  swapRows(left: number, right: number, length: number): void {
    const size = length * this.shape.headDim;
    if (this.#scratch.length < size) this.#scratch = new Float32Array(size);
    this.#eachHead((buffer, _, head) => {
      const [leftStart, rightStart] = [this.#offset(left, head), this.#offset(right, head)];
      this.#scratch.set(buffer.subarray(leftStart, leftStart + size));
      buffer.copyWithin(leftStart, rightStart, rightStart + size);
      buffer.set(this.#scratch.subarray(0, size), rightStart);
    });
  }

  /** Appends the first `count` new tokens of row `source` of the pass after the row's `length` tokens. */
  append(
    row: number,
    length: number,
    fresh: FreshTokens,
    source: { readonly row: number; readonly count: number },
  ): void {
    const { numKvHeads, headDim } = this.shape;
    const chunk = source.count * headDim;
    for (let index = 0; index < this.#buffers.length; index += 1) {
      const buffer = this.#buffers[index] ?? fresh.values;
      for (let head = 0; head < numKvHeads; head += 1) {
        const from = ((index * fresh.numRows + source.row) * numKvHeads + head) * fresh.width * headDim;
        const to = this.#offset(row, head) + length * headDim;
        buffer.set(fresh.values.subarray(from, from + chunk), to);
      }
    }
  }

  /** Writes the first `count` tokens of a segment at token `position` of a row. */
  writeSegment(row: number, position: number, segment: KvSegment, count: number): void {
    const { numKvHeads, headDim } = this.shape;
    this.#eachHead((buffer, index, head) => {
      const from = (index * numKvHeads + head) * segment.numTokens * headDim;
      const to = this.#offset(row, head) + position * headDim;
      buffer.set(segment.values.subarray(from, from + count * headDim), to);
    });
  }

  /** Copies tokens [start, end) of a row. */
  readSegment(row: number, start: number, end: number): KvSegment {
    const { numLayers, numKvHeads, headDim } = this.shape;
    const numTokens = end - start;
    const values = new Float32Array(2 * numLayers * numKvHeads * numTokens * headDim);
    this.#eachHead((buffer, index, head) => {
      const from = this.#offset(row, head) + start * headDim;
      values.set(buffer.subarray(from, from + numTokens * headDim), (index * numKvHeads + head) * numTokens * headDim);
    });
    return { values, numTokens };
  }

  /** Returns where a head of a row begins in each buffer. */
  #offset(row: number, head: number): number {
    return (row * this.shape.numKvHeads + head) * this.#stride * this.shape.headDim;
  }

  #rowSize(stride: number): number {
    return this.shape.numKvHeads * stride * this.shape.headDim;
  }

  #eachHead(visit: (buffer: Float32Array, index: number, head: number) => void): void {
    for (const [index, buffer] of this.#buffers.entries()) {
      for (let head = 0; head < this.shape.numKvHeads; head += 1) visit(buffer, index, head);
    }
  }

  /** A longer stride moves the last row first, and a shorter one the first row. */
  #restride(buffer: Float32Array, stride: number, lengths: readonly number[]): void {
    const { numKvHeads, headDim } = this.shape;
    const [before, after] = [this.#stride * headDim, stride * headDim];
    if (before === after) return;
    const numChunks = lengths.length * numKvHeads;
    for (let step = 0; step < numChunks; step += 1) {
      const chunk = after > before ? numChunks - 1 - step : step;
      const size = (lengths[Math.floor(chunk / numKvHeads)] ?? 0) * headDim;
      buffer.copyWithin(chunk * after, chunk * before, chunk * before + size);
    }
  }
}
