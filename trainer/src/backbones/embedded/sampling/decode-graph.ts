/**
 * The decoder for sampling. It computes new tokens of several rows, and each row has separate past tokens. The past
 * keys and values are only inputs and are never copied. Scores for past and new keys are computed separately, and the
 * outputs contain only the new keys and values, which the caller appends. (If the outputs contained the cache, ONNX
 * Runtime would write all of it for every token.)
 */

import { add, multiply, silu } from '../training/graph/elementwise.js';
import { Graph } from '../training/graph/graph.js';
import type { GraphOptions } from '../training/graph/graph.js';
import { gemm, matmul } from '../training/graph/matmul.js';
import { concat, reshape, split, transpose } from '../training/graph/reshape.js';
import { softmax } from '../training/graph/softmax.js';
import type { Value } from '../training/graph/value.js';
import { rmsNorm } from '../training/layers/rms-norm.js';
import { rope } from '../training/layers/rope.js';
import type { Rotation } from '../training/layers/rope.js';
import type { ModelConfig } from '../training/model/model-config.js';
import type { ParameterLayout } from '../training/model/parameter-layout.js';
import type { WeightFormat } from '../training/frozen/frozen-weights.js';
import type { JoinedAdapters } from './joined-adapters.js';
import { DecodeWeights } from './decode-weights.js';

/** The parts of a model that change its decode graph. */
export type DecodeForm = {
  readonly layout: ParameterLayout;
  /** How the weights are stored. Defaults to float32. */
  readonly format?: WeightFormat | undefined;
  readonly adapters?: JoinedAdapters | undefined;
};

/**
 * Inputs: ids, positions int32 [B, T]; last int32 [B], flat indices of tokens; bias [B, 1, 1, T, S + T];
 * inverse_temperature [B, 1]; cos, sin [P, headDim / 2]; past_0 .. past_(2L-1) [B, KV, 1, S, headDim], keys then values
 * of each layer. With stored matrices, `embedded` [B * T, hiddenSize], the embedding row of each token, is an input in
 * place of ids. With adapters, their joined matrices are inputs too. Outputs: probabilities [B, V]; fresh
 * [2L * B, KV, T, headDim] in the order of the past.
 */
export function decodeGraph(config: ModelConfig, form: DecodeForm, options: GraphOptions = {}): Graph {
  const graph = new Graph(options);
  graph.withoutGradient(() => new DecodeGraphBuilder(graph, config, form).build());
  return graph;
}

/**
 * The residual stream: its sum so far, and the summand that the next norm adds, because a fused norm adds and
 * normalizes in one operator.
 */
type Stream = { readonly sum: Value; readonly pending: Value | null };

class DecodeGraphBuilder {
  readonly #graph: Graph;
  readonly #config: ModelConfig;
  readonly #weights: DecodeWeights;
  readonly #adapters: JoinedAdapters | undefined;
  readonly #rotation: Rotation;
  readonly #bias: Value;
  readonly #fresh: Value[] = [];

  constructor(graph: Graph, config: ModelConfig, { layout, format = 'float32', adapters }: DecodeForm) {
    this.#graph = graph;
    this.#config = config;
    this.#weights = new DecodeWeights(graph, layout, format);
    this.#adapters = adapters;
    const half = config.headDim / 2;
    const positions = graph.input('positions', ['B', 'T'], 'int32');
    graph.defineDim('N', ['B', 'T']);
    this.#rotation = {
      cos: graph.input('cos', ['P', half]),
      sin: graph.input('sin', ['P', half]),
      positions: toInt64(positions),
    };
    this.#bias = graph.input('bias', ['B', 1, 1, 'T', 'S+T']);
  }

  build(): void {
    const { hiddenSize, numLayers, isTied } = this.#config;
    let stream: Stream = { sum: this.#weights.embed(hiddenSize), pending: null };
    for (let layer = 0; layer < numLayers; layer += 1) stream = this.#block(layer, stream);
    const hidden = this.#gather(
      this.#norm('model.norm.weight', stream).normalized,
      this.#graph.input('last', ['B'], 'int32'),
      hiddenSize,
    );
    const logits = this.#weights.product(hidden, [isTied ? 'model.embed_tokens' : 'lm_head']);
    const scaled = multiply(logits, this.#graph.input('inverse_temperature', ['B', 1]));
    this.#graph.output('probabilities', softmax(scaled));
    this.#outputFresh();
  }

  #block(layer: number, stream: Stream): Stream {
    const prefix = `model.layers.${layer}.`;
    const before = this.#norm(`${prefix}input_layernorm.weight`, stream);
    const attended = this.#attention(layer, before.normalized);
    const between = this.#norm(`${prefix}post_attention_layernorm.weight`, { sum: before.sum, pending: attended });
    return { sum: between.sum, pending: this.#feedForward(`${prefix}mlp.`, between.normalized) };
  }

  #attention(layer: number, hidden: Value): Value {
    const { numHeads, numKvHeads } = this.#config;
    const prefix = `model.layers.${layer}.self_attn.`;
    const projections = ['q_proj', 'k_proj', 'v_proj'].map((name) => `${prefix}${name}`);
    const heads = this.#headsFirst(this.#product(projections, hidden), numHeads + 2 * numKvHeads);
    const [compared, values] = twoParts(split(heads, [numHeads + numKvHeads, numKvHeads], 1));
    const rotated = rope(this.#headNorms(prefix, compared), this.#rotation, numHeads + numKvHeads);
    const [queries, keys] = twoParts(split(rotated, [numHeads, numKvHeads], 1));
    this.#fresh.push(keys, values);
    return this.#product([`${prefix}o_proj`], this.#attend(queries, { layer, keys, values }));
  }

  /**
   * Compares the query [B, H, T, headDim] with the past and the new tokens, and returns [N, H * headDim]. Each query head
   * is a separate product, broadcast over the keys that it shares. For one token the product is a vector times a matrix,
   * and ONNX Runtime then does not copy the keys into its packed layout first.
   */
  #attend(
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

  #feedForward(prefix: string, hidden: Value): Value {
    const names = [`${prefix}gate_proj`, `${prefix}up_proj`];
    const outputs = split(
      this.#weights.product(hidden, names),
      names.map((name) => this.#weights.numOut(name)),
      1,
    );
    const [gate, up] = twoParts(
      outputs.map((output, index) => this.#adapted(names.slice(index, index + 1), { hidden, output })),
    );
    return this.#product([`${prefix}down_proj`], multiply(silu(gate), up));
  }

  #norm(name: string, { sum, pending }: Stream): { readonly normalized: Value; readonly sum: Value } {
    const epsilon = this.#config.rmsNormEpsilon;
    const weight = this.#weights.vector(name);
    if (pending === null) return { normalized: rmsNorm(sum, weight, epsilon), sum };
    if (!this.#graph.isFused) {
      const total = add(sum, pending);
      return { normalized: rmsNorm(total, weight, epsilon), sum: total };
    }
    const attributes = { epsilon: { float: epsilon } };
    const outputs = [sum, null, null, sum] as const;
    const [normalized, , , total] = this.#graph.nodes(
      'SkipSimplifiedLayerNormalization',
      [sum, pending, weight],
      outputs,
      { attributes, isContrib: true },
    );
    return { normalized, sum: total };
  }

  /**
   * Returns the outputs of modules that read the same input, side by side. Their weights are neighbours in the layout, so
   * they are one product.
   */
  #product(names: readonly string[], hidden: Value): Value {
    return this.#adapted(names, { hidden, output: this.#weights.product(hidden, names) });
  }

  /** Adds what the adapters of the modules compute, if there are any. */
  #adapted(names: readonly string[], { hidden, output }: { readonly hidden: Value; readonly output: Value }): Value {
    const joined = this.#adapters?.join(names.map((name) => ({ name, numOut: this.#weights.numOut(name) })));
    if (joined === undefined) return output;
    const [a, b] = [joined.a, joined.b].map(({ name, shape }) => this.#graph.input(name, shape)) as [Value, Value];
    return gemm(gemm(hidden, a, { transposeRight: true }), b, { bias: output });
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

  #outputFresh(): void {
    const [first, ...rest] = this.#fresh;
    if (first !== undefined) this.#graph.output('fresh', concat([first, ...rest], 0, 'fresh_rows'));
  }

  #gather(table: Value, index: Value, width: number): Value {
    return this.#graph.node('Gather', [table, index], { shape: [...index.shape, width] }, { attributes: { axis: 0 } });
  }
}

function twoParts([first, second]: readonly Value[]): readonly [Value, Value] {
  if (first === undefined || second === undefined) throw new Error('A split into two has two parts.');
  return [first, second];
}

function toInt64(value: Value): Value {
  return value.graph.node('Cast', [value], { shape: value.shape, type: 'int64' }, { attributes: { to: 7 } });
}
