/**
 * Attention as one operator per layer, which rotates queries and keys, and writes the new keys and values into the past.
 * Its batches have one new token per row, or one row.
 *
 * Inputs: ends int32 [B], the position of each row's last token; longest int32 [1], the largest number of past and new
 * tokens of a row; cos, sin [P, headDim / 2]; past_0 .. past_(2L-1) [B, KV, S, headDim], keys then values of each layer,
 * with room for the new tokens. Outputs: present_0 .. present_(2L-1), which must be in the memory of the past.
 */

import type { Graph } from '../training/graph/graph.js';
import { reshape, split } from '../training/graph/reshape.js';
import type { Value } from '../training/graph/value.js';
import { rmsNorm } from '../training/layers/rms-norm.js';
import type { ModelConfig } from '../training/model/model-config.js';
import type { DecodeAttention } from './decode-graph.js';
import type { DecodeWeights } from './decode-weights.js';

export class GroupedAttention implements DecodeAttention {
  readonly #graph: Graph;
  readonly #config: ModelConfig;
  readonly #weights: DecodeWeights;
  readonly #lengthsAndAngles: readonly Value[];

  constructor(graph: Graph, config: ModelConfig, weights: DecodeWeights) {
    this.#graph = graph;
    this.#config = config;
    this.#weights = weights;
    const half = config.headDim / 2;
    this.#lengthsAndAngles = [
      graph.input('ends', ['B'], 'int32'),
      graph.input('longest', [1], 'int32'),
      graph.input('cos', ['P', half]),
      graph.input('sin', ['P', half]),
    ];
  }

  attend(layer: number, projected: Value): Value {
    const { numHeads, numKvHeads, headDim } = this.#config;
    const shape = ['B', numKvHeads, 'S', headDim];
    const past = [0, 1].map((kind) => this.#graph.input(`past_${2 * layer + kind}`, shape));
    const [output, ...present] = this.#graph.nodes(
      'GroupQueryAttention',
      [...this.#parts(`model.layers.${layer}.self_attn.`, projected), ...past, ...this.#lengthsAndAngles],
      [{ shape: ['B', 'T', numHeads * headDim] }, { shape }, { shape }],
      { attributes: { num_heads: numHeads, kv_num_heads: numKvHeads, do_rotary: 1 }, isContrib: true },
    );
    for (const [kind, value] of present.entries()) this.#graph.output(`present_${2 * layer + kind}`, value);
    return reshape(output, ['N', numHeads * headDim]);
  }

  finish(): void {
    // Each layer has added its outputs.
  }

  /** Returns queries, keys and values. If the model does not normalize heads, the first one contains all of them. */
  #parts(prefix: string, projected: Value): readonly [Value, Value | null, Value | null] {
    const { hasHeadNorms, headDim, rmsNormEpsilon, numHeads, numKvHeads } = this.#config;
    const widths = [numHeads, numKvHeads, numKvHeads].map((count) => count * headDim);
    const rows = (value: Value, width: number): Value => reshape(value, ['B', 'T', width]);
    if (!hasHeadNorms) return [rows(projected, (numHeads + 2 * numKvHeads) * headDim), null, null];
    const [queries, keys, values] = split(projected, widths, 1).map((part, index) => {
      const name = ['q_norm', 'k_norm'][index];
      if (name === undefined) return rows(part, widths[index] ?? 0);
      const heads = this.#graph.defineDim(`N * ${name}`, ['N', [numHeads, numKvHeads][index] ?? 1]);
      const weight = this.#weights.vector(`${prefix}${name}.weight`);
      return rows(rmsNorm(reshape(part, [heads, headDim]), weight, rmsNormEpsilon), widths[index] ?? 0);
    });
    if (queries === undefined || keys === undefined || values === undefined)
      throw new Error('A split into three has three parts.');
    return [queries, keys, values];
  }
}
