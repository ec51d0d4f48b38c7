/**
 * A StepModel without weights, for tests. Each key and value is a hash of its token, its depth in the row and its
 * position in the buffer. The next-token distribution is a hash of all visible keys and values. A single misplaced key
 * or value therefore changes the samples. `contribution` and `referenceProbabilities` compute the same distribution
 * without a cache.
 */

import type { KvShape, StepInput, StepModel, StepOutput } from '../backbones/embedded/sampling/step-model.js';

export type HashModelOptions = {
  readonly vocabSize?: number;
  readonly contextLength?: number;
  readonly salt?: number;
  readonly passCost?: number;
};

export class HashStepModel implements StepModel {
  readonly vocabSize: number;
  readonly contextLength: number;
  readonly kvShape: KvShape = { numLayers: 2, numKvHeads: 2, headDim: 4 };
  readonly passCost: number;
  /** The number of rows, and of tokens per row, in each pass. */
  readonly passes: { readonly numRows: number; readonly width: number; readonly pastLength: number }[] = [];
  /** Called before each pass. */
  onRun: () => void = () => undefined;
  /** A prompt token that makes everything after it NaN, like a broken embedding row. */
  brokenId = -1;
  readonly #salt: number;

  constructor({ vocabSize = 40, contextLength = 96, salt = 1, passCost = 300 }: HashModelOptions = {}) {
    this.vocabSize = vocabSize;
    this.contextLength = contextLength;
    this.passCost = passCost;
    this.#salt = salt;
  }

  async run(input: StepInput): Promise<StepOutput> {
    await new Promise(setImmediate);
    this.onRun();
    this.passes.push({ numRows: input.numRows, width: input.width, pastLength: input.pastLength });
    const fresh = this.#freshTokens(input);
    const probabilities = new Float32Array(input.numRows * this.vocabSize);
    for (let row = 0; row < input.numRows; row += 1) {
      const state = this.#visibleSum(input, fresh, row);
      probabilities.set(this.#softmax(state, input.inverseTemperatures[row] ?? 1), row * this.vocabSize);
    }
    return { probabilities, fresh };
  }

  /** Returns the summand of a visible token in the state that determines the next token. */
  contribution(id: number, position: number): number {
    let sum = 0;
    for (let index = 0; index < this.#numHeads * this.kvShape.headDim; index += 1)
      sum += this.#feature(id, position, index) * weightOf(index);
    return sum;
  }

  /** Returns the distribution after tokens whose contributions sum to `state`. */
  referenceProbabilities(state: number, inverseTemperature: number): Float32Array {
    return this.#softmax(state, inverseTemperature);
  }

  get #numHeads(): number {
    return 2 * this.kvShape.numLayers * this.kvShape.numKvHeads;
  }

  #feature(id: number, position: number, index: number): number {
    return id === this.brokenId
      ? NaN
      : Math.fround(Math.sin(id * 12.9898 + position * 78.233 + index * 3.7 + this.#salt));
  }

  #freshTokens({ numRows, width, ids, positions }: StepInput): Float32Array {
    const { numLayers, numKvHeads, headDim } = this.kvShape;
    const fresh = new Float32Array(2 * numLayers * numRows * numKvHeads * width * headDim);
    for (let at = 0; at < fresh.length; at += 1) {
      const [element, token] = [at % headDim, Math.floor(at / headDim) % width];
      const [head, row] = [
        Math.floor(at / headDim / width) % numKvHeads,
        Math.floor(at / headDim / width / numKvHeads) % numRows,
      ];
      const index = (Math.floor(at / headDim / width / numKvHeads / numRows) * numKvHeads + head) * headDim + element;
      fresh[at] = this.#feature(ids[row * width + token] ?? 0, positions[row * width + token] ?? 0, index);
    }
    return fresh;
  }

  /** Returns the weighted sum over the keys and values that the row's last token sees. */
  #visibleSum(input: StepInput, fresh: Float32Array, row: number): number {
    const { numKvHeads, headDim } = this.kvShape;
    const span = input.pastLength + input.width;
    const last = input.lastTokens[row] ?? 0;
    let sum = 0;
    for (let index = 0; index < this.#numHeads * headDim; index += 1) {
      const [tensor, head, element] = [
        Math.floor(index / headDim / numKvHeads),
        Math.floor(index / headDim) % numKvHeads,
        index % headDim,
      ];
      for (let key = 0; key < span; key += 1) {
        const visible = Math.exp(input.bias[last * span + key] ?? 0);
        const place = row * numKvHeads + head;
        const past = input.past[tensor]?.[(place * input.pastLength + key) * headDim + element];
        const freshPlace = (tensor * input.numRows * numKvHeads + place) * input.width + key - input.pastLength;
        sum +=
          visible * ((key < input.pastLength ? past : fresh[freshPlace * headDim + element]) ?? NaN) * weightOf(index);
      }
    }
    return sum;
  }

  #softmax(state: number, inverseTemperature: number): Float32Array {
    const logits = Float64Array.from(
      { length: this.vocabSize },
      (_, id) => 2 * Math.sin(state * 7 + id * 1.7) * inverseTemperature,
    );
    const highest = Math.max(...logits);
    const exponentials = logits.map((logit) => Math.exp(logit - highest));
    const total = exponentials.reduce((sum, value) => sum + value, 0);
    return Float32Array.from(exponentials, (value) => value / total);
  }
}

function weightOf(index: number): number {
  return 0.3 + Math.cos(index * 2.1);
}
