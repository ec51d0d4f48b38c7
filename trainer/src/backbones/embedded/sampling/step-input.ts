/** Arranges the pending tokens of consecutive rows as one forward pass. It reuses its buffers from step to step. */

import { hidden } from './step-model.js';
import type { StepInput } from './step-model.js';
import type { DecodeBatch } from './decode-batch.js';

export class StepInputBuilder {
  #ids = new Int32Array(0);
  #positions = new Int32Array(0);
  #lastTokens = new Int32Array(0);
  #inverseTemperatures = new Float32Array(0);
  #bias = new Float32Array(0);

  /**
   * Lays out rows [start, end) of the batch, with up to `width` pending tokens of each. The result is valid until the
   * next call.
   */
  build(
    batch: DecodeBatch,
    { start, end }: { readonly start: number; readonly end: number },
    width: number,
  ): StepInput {
    const numRows = end - start;
    const pastLength = batch.kv.stride;
    this.#reserve(numRows, width, pastLength);
    this.#bias.fill(hidden, 0, numRows * width * (pastLength + width));
    for (let row = 0; row < numRows; row += 1) this.#writeRow(batch, start + row, { row, width, pastLength });
    return {
      numRows,
      width,
      pastLength,
      ids: this.#ids.subarray(0, numRows * width),
      positions: this.#positions.subarray(0, numRows * width),
      lastTokens: this.#lastTokens.subarray(0, numRows),
      bias: this.#bias.subarray(0, numRows * width * (pastLength + width)),
      inverseTemperatures: this.#inverseTemperatures.subarray(0, numRows),
      past: batch.kv.views(start, end),
    };
  }

  #writeRow(
    batch: DecodeBatch,
    source: number,
    { row, width, pastLength }: { readonly row: number; readonly width: number; readonly pastLength: number },
  ): void {
    const sequence = batch.rows[source];
    if (sequence === undefined) throw new Error(`The batch has no row ${source}.`);
    const count = Math.min(width, sequence.numPending);
    const span = pastLength + width;
    for (let token = 0; token < width; token += 1) {
      const at = row * width + token;
      this.#ids[at] = token < count ? sequence.idAt(sequence.kvLength + token) : 0;
      this.#positions[at] = token < count ? sequence.kvLength + token : 0;
      this.#bias.fill(0, at * span, at * span + sequence.kvLength);
      this.#bias.fill(0, at * span + pastLength, at * span + pastLength + token + 1);
    }
    this.#lastTokens[row] = row * width + count - 1;
    this.#inverseTemperatures[row] = sequence.inverseTemperature;
  }

  #reserve(numRows: number, width: number, pastLength: number): void {
    if (this.#ids.length < numRows * width) {
      this.#ids = new Int32Array(numRows * width);
      this.#positions = new Int32Array(numRows * width);
    }
    if (this.#lastTokens.length < numRows) {
      this.#lastTokens = new Int32Array(numRows);
      this.#inverseTemperatures = new Float32Array(numRows);
    }
    const biasSize = numRows * width * (pastLength + width);
    if (this.#bias.length < biasSize) this.#bias = new Float32Array(biasSize);
  }
}
