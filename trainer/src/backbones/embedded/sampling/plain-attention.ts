/**
 * Attention out of simple operators. Scores for past and new keys are computed separately, and the output contains only
 * the new keys and values, which the caller appends.
 *
 * Inputs: positions int32 [B, T]; bias [B, 1, 1, T, S + T]; cos, sin [P, headDim / 2]; past_0 .. past_(2L-1)
 * [B, KV, 1, S, headDim], keys then values of each layer. Output: fresh [2L * B, KV, T, headDim] in the order of the past.
 */

import { add, multiply } from '../training/graph/elementwise.js';
import type { Graph } from '../training/graph/graph.js';
import { matmul } from '../training/graph/matmul.js';
import { concat, reshape, split, transpose } from '../training/graph/reshape.js';
import { softmax } from '../training/graph/softmax.js';
import type { Value } from '../training/graph/value.js';
import { rmsNorm } from '../training/layers/rms-norm.js';
import { rope } from '../training/layers/rope.js';
import type { Rotation } from '../training/layers/rope.js';
import type { ModelConfig } from '../training/model/model-config.js';
import type { DecodeAttention } from './decode-graph.js';
import type { DecodeWeights } from './decode-weights.js';

export class PlainAttention implements DecodeAttention {
  readonly #graph: Graph;
  readonly #config: ModelConfig;
  readonly #weights: DecodeWeights;
  readonly #rotation: Rotation;
  readonly #bias: Value;
  readonly #fresh: Value[] = [];

  constructor(graph: Graph, config: ModelConfig, weights: DecodeWeights) {
    this.#graph = graph;
    this.#config = config;
    this.#weights = weights;
    const half = config.headDim / 2;
    this.#rotation = {
      cos: graph.input('cos', ['P', half]),
      sin: graph.input('sin', ['P', half]),
      positions: toInt64(graph.input('positions', ['B', 'T'], 'int32')),
    };
    this.#bias = graph.input('bias', ['B', 1, 1, 'T', 'S+T']);
  }

  attend(layer: number, projected: Value): Value {
    const { numHeads, numKvHeads } = this.#config;
    const heads = this.#headsFirst(projected, numHeads + 2 * numKvHeads);
    const [compared, values] = twoParts(split(heads, [numHeads + numKvHeads, numKvHeads], 1));
    const normalized = this.#headNorms(`model.layers.${layer}.self_attn.`, compared);
    const rotated = rope(normalized, this.#rotation, numHeads + numKvHeads);
    const [queries, keys] = twoParts(split(rotated, [numHeads, numKvHeads], 1));
    this.#fresh.push(keys, values);
    return this.#compare(queries, { layer, keys, values });
  }

  finish(): void {
    const [first, ...rest] = this.#fresh;
    if (first !== undefined) this.#graph.output('fresh', concat([first, ...rest], 0, 'fresh_rows'));
  }

  /**
   * Compares the query [B, H, T, headDim] with the past and the new tokens, and returns [N, H * headDim]. Each query head
   * is a separate product, broadcast over the keys that it shares. For one token the product is a vector times a matrix,
   * and ONNX Runtime then does not copy the keys into its packed layout first.
   */
  #compare(
    query: Value,
    { layer, keys, values }: { readonly layer: number; readonly keys: Value; readonly values: Value },
  ): Value {
    const { numHeads, numKvHeads, headDim } = this.#config;
    const group = numHeads / numKvHeads;
    const past = (kind: number): Value =>
      this.#graph.input(`past_${2 * layer + kind}`, ['B', numKvHeads, 1, 'S', headDim]);
    const fresh = (value: Value): Value => reshape(value, ['B', numKvHeads, 1, 'T', headDim]);
    const grouped = reshape(multiply(query, 1 / Math.sqrt(headDim)), ['B', numKvHeads, group, 'T', headDim]);
    const scoresOf = (key: Value): Value => matmul(grouped, key, { transposeRight: true });
    const shares = softmax(add(concat([scoresOf(past(0)), scoresOf(fresh(keys))], 4, 'S+T'), this.#bias));
    const parts = (['S', 'T'] as const).map((dim) => ({ shape: ['B', numKvHeads, group, 'T', dim] }));
    const [ofPast, ofFresh] = twoParts(
      this.#graph.nodes('Split', [shares, this.#graph.shape(['S', 'T'])], parts, { attributes: { axis: 4 } }),
    );
    const output = add(matmul(ofPast, past(1)), matmul(ofFresh, fresh(values)));
    return reshape(transpose(output, [0, 3, 1, 2, 4]), ['N', numHeads * headDim]);
  }

  /** Normalizes each query head and each key head of [B, H + KV, T, headDim] separately, if the model does. */
  #headNorms(prefix: string, heads: Value): Value {
    const { hasHeadNorms, headDim, rmsNormEpsilon, numHeads, numKvHeads } = this.#config;
    if (!hasHeadNorms) return heads;
    const [queries, keys] = twoParts(split(heads, [numHeads, numKvHeads], 1));
    const normalized = (name: string, value: Value, count: number): Value => {
      const rows = this.#graph.defineDim(`N * ${count} heads`, ['N', count]);
      const weight = this.#weights.vector(`${prefix}${name}.weight`);
      return reshape(rmsNorm(reshape(value, [rows, headDim]), weight, rmsNormEpsilon), value.shape);
    };
    return concat([normalized('q_norm', queries, numHeads), normalized('k_norm', keys, numKvHeads)], 1);
  }

  /** Reshapes [N, heads * headDim] to [B, heads, T, headDim]. */
  #headsFirst(value: Value, numHeads: number): Value {
    return transpose(reshape(value, ['B', 'T', numHeads, this.#config.headDim]), [0, 2, 1, 3]);
  }
}

export function twoParts([first, second]: readonly Value[]): readonly [Value, Value] {
  if (first === undefined || second === undefined) throw new Error('A split into two has two parts.');
  return [first, second];
}

function toInt64(value: Value): Value {
  return value.graph.node('Cast', [value], { shape: value.shape, type: 'int64' }, { attributes: { to: 7 } });
}
