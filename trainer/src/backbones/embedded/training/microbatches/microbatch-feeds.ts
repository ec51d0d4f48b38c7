/** Turns micro-batch arrays into the tensors that the graphs take, in the graphs' precision. */

import { ropeTables } from '../model/rope-tables.js';
import { keysPerRow, writeAttentionBias } from './attention-bias.js';
import { BackboneError } from '@agentjet/core';
import type { BuiltInBatch } from '../../../../slope/train-in-passes.js';
import { toTensor, type Tensor } from '@agentjet/onnx';
import type { ModelConfig } from '../model/model-config.js';
import type { FloatArray } from '../optimizer/optimizer-memory.js';
import type { MicrobatchArrays } from './microbatch-arrays.js';

export type Feeds = { readonly [input: string]: Tensor };

/**
 * Logprobs of the sampler and the trainer that differ by less than this are treated as equal. Rounding changes them by
 * about 1e-5 (trainer/LOG.md).
 */
const rounding = 1e-3;

/** The cap of a term without a cap: the largest finite float32. */
const noCap = 3.4e38;

/**
 * This is added to the logit of a token that was cut, so its probability becomes 0. It is finite, because 0 times a
 * logprob of -Infinity would be NaN.
 */
const cutLogit = -1e9;

/**
 * The maximum number of floats of an attention bias: 4 GiB, which a row of 32,768 tokens takes. Attention takes the
 * same amount for each head.
 */
const maxBiasLength = 2 ** 30;

function tooLong(arrays: MicrobatchArrays): BackboneError {
  return new BackboneError(
    'overlong_row',
    `A row of ${arrays.rowLength} tokens is too long for the onnx backbone, whose attention holds a number for each pair of tokens. ` +
      'Shorten the conversations, lower data.max_prompt_length or data.max_response_length with data.overlong_sample_policy set to drop_episode or truncate, or train with the torch backbone.',
  );
}

export class FeedWriter {
  readonly #config: ModelConfig;
  readonly #precision: 'float32' | 'float64';
  #bias: FloatArray;
  #keptBias: FloatArray;
  #rotation: { readonly numPositions: number; readonly cos: FloatArray; readonly sin: FloatArray };

  constructor(config: ModelConfig, precision: 'float32' | 'float64') {
    this.#config = config;
    this.#precision = precision;
    this.#bias = this.#allocate(0);
    this.#keptBias = this.#allocate(0);
    this.#rotation = { numPositions: 0, cos: this.#allocate(0), sin: this.#allocate(0) };
  }

  /** Returns the inputs that scoring and training both need. The tensors of biases are valid until the next call. */
  sequence(arrays: MicrobatchArrays, temperature: number): Feeds {
    const { numRows, rowLength, headRows, headInverse, pairRows, pairTargets } = arrays;
    const grid = [numRows, rowLength];
    return {
      ids: toTensor(arrays.ids, grid),
      positions: toTensor(arrays.positions, grid),
      bias: this.#biasTensor(arrays),
      ...pathTensors(arrays),
      ...this.#rotationTensors(arrays),
      head_rows: toTensor(headRows, [headRows.length]),
      head_inverse: toTensor(headInverse, [headInverse.length]),
      pair_rows: toTensor(pairRows, [pairRows.length]),
      pair_targets: toTensor(pairTargets, [pairTargets.length]),
      ...this.#temperatures(arrays, temperature),
    };
  }

  #temperatures({ mixed }: MicrobatchArrays, temperature: number): Feeds {
    if (mixed === undefined) return { inverse_temperature: this.#scalar(1 / temperature) };
    const { scaledRows, inverses, kept } = mixed;
    return {
      scaled_rows: toTensor(scaledRows, [scaledRows.length]),
      inverse_temperatures: toTensor(this.#convert(inverses), [inverses.length, 1]),
      ...(kept && { kept_bias: this.#keptBiasTensor(kept) }),
    };
  }

  #keptBiasTensor(kept: readonly (Int32Array | undefined)[]): Tensor {
    const { vocabSize } = this.#config;
    const length = kept.length * vocabSize;
    if (this.#keptBias.length < length) this.#keptBias = this.#allocate(length);
    const bias = this.#keptBias.subarray(0, length);
    for (const [row, ids] of kept.entries()) {
      const start = row * vocabSize;
      bias.fill(ids === undefined ? 0 : cutLogit, start, start + vocabSize);
      for (const id of ids ?? []) bias[start + id] = 0;
    }
    return toTensor(bias, [kept.length, vocabSize]);
  }

  /** Shape [M]: logprobs of the frozen reference, from scoring. */
  reference(logprobs: FloatArray): Feeds {
    return { reference_logprobs: this.#vector(logprobs) };
  }

  loss(arrays: MicrobatchArrays, { loss, isOnPolicy = false }: Pick<BuiltInBatch, 'loss' | 'isOnPolicy'>): Feeds {
    const terms = {
      term_pairs: toTensor(arrays.termPairs, [arrays.termPairs.length]),
      term_weights: this.#vector(arrays.termWeights),
    };
    if (loss.kind === 'sft') return terms;
    return {
      ...terms,
      term_advantages: this.#vector(arrays.termAdvantages),
      term_logprobs: this.#vector(arrays.termLogprobs),
      term_caps: this.#vector(arrays.termAdvantages.map((advantage) => lossCap(advantage, loss.dualClip))),
      ratio_low: this.#scalar(1 - loss.clipLow),
      ratio_high: this.#scalar(1 + loss.clipHigh),
      rounding: this.#scalar(isOnPolicy ? rounding : 0),
      kl_coef: this.#scalar(loss.klCoef),
      entropy_coef: this.#scalar(loss.entropyCoef),
    };
  }

  #biasTensor(arrays: MicrobatchArrays): Tensor {
    const shape = [arrays.numRows, 1, arrays.rowLength, keysPerRow(arrays)];
    const length = shape.reduce((product, dim) => product * dim, 1);
    if (length > maxBiasLength) throw tooLong(arrays);
    if (this.#bias.length < length) this.#bias = this.#allocate(length);
    const bias = this.#bias.subarray(0, length);
    writeAttentionBias(arrays, bias);
    return toTensor(bias, shape);
  }

  /**
   * RotaryEmbedding needs a table with at least as many positions as the rows have tokens, even if no token has such a
   * high position.
   */
  #rotationTensors({ positions, rowLength }: MicrobatchArrays): Feeds {
    const needed = positions.reduce((largest, position) => Math.max(largest, position + 1), rowLength);
    if (this.#rotation.numPositions < needed) this.#growRotation(needed);
    const { numPositions, cos, sin } = this.#rotation;
    const shape = [numPositions, this.#config.headDim / 2];
    return { cos: toTensor(cos, shape), sin: toTensor(sin, shape) };
  }

  #growRotation(needed: number): void {
    const numPositions = 2 ** Math.ceil(Math.log2(needed));
    const { cos, sin } = ropeTables(this.#config, numPositions);
    this.#rotation = { numPositions, cos: this.#convert(cos), sin: this.#convert(sin) };
  }

  #vector(values: FloatArray): Tensor {
    return toTensor(this.#convert(values), [values.length]);
  }

  #scalar(value: number): Tensor {
    return toTensor(this.#convert(Float64Array.of(value)), []);
  }

  #allocate(length: number): FloatArray {
    return this.#precision === 'float32' ? new Float32Array(length) : new Float64Array(length);
  }

  #convert(values: FloatArray): FloatArray {
    if (values instanceof Float32Array === (this.#precision === 'float32')) return values;
    return this.#precision === 'float32' ? Float32Array.from(values) : Float64Array.from(values);
  }
}

function pathTensors({ numRows, paths }: MicrobatchArrays): Feeds {
  if (paths === undefined) return {};
  return {
    path_tokens: toTensor(paths.tokens, [numRows, paths.length]),
    path_slots: toTensor(paths.slots, [paths.length, numRows]),
    path_counts: toTensor(
      Int32Array.from({ length: paths.width }, (_, count) => count),
      [paths.width],
    ),
    path_places: toTensor(paths.places, [paths.places.length]),
  };
}

/** Dual clip (Ye et al. 2020): a term with a negative advantage costs at most dualClip * |advantage|. */
function lossCap(advantage: number, dualClip: number): number {
  return dualClip > 0 && advantage < 0 ? -advantage * dualClip : noCap;
}
