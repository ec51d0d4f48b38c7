/**
 * The decoder for sampling. It computes new tokens of several rows, and each row has separate past tokens. The past
 * keys and values are never copied. (If the outputs contained the cache, ONNX Runtime would write all of it for every
 * token.)
 */

import { unreturnedOutput } from '@agentjet/onnx';
import { add, multiply, silu } from '../training/graph/elementwise.js';
import { Graph } from '../training/graph/graph.js';
import type { GraphOptions } from '../training/graph/graph.js';
import { gemm } from '../training/graph/matmul.js';
import { split } from '../training/graph/reshape.js';
import { softmax } from '../training/graph/softmax.js';
import type { Value } from '../training/graph/value.js';
import { rmsNorm } from '../training/layers/rms-norm.js';
import type { ModelConfig } from '../training/model/model-config.js';
import type { ParameterLayout } from '../training/model/parameter-layout.js';
import type { WeightFormat } from '../training/frozen/frozen-weights.js';
import type { JoinedAdapters, JoinedMatrix } from './joined-adapters.js';
import { DecodeWeights } from './decode-weights.js';
import { GroupedAttention } from './grouped-attention.js';
import { PlainAttention, twoParts } from './plain-attention.js';

/** The parts of a model that change its decode graph. */
export type DecodeForm = {
  readonly layout: ParameterLayout;
  /** How the weights are stored. Defaults to float32. */
  readonly format?: WeightFormat | undefined;
  readonly adapters?: JoinedAdapters | undefined;
};

/**
 * Inputs: ids int32 [B, T]; last int32 [B], flat indices of tokens; inverse_temperature [B, 1]; and those of the form of
 * attention. With stored matrices, `embedded` [B, T, hiddenSize], the embedding row of each token, is an input in place of
 * ids. With adapters, their joined matrices are inputs too, unless they are in a file. Outputs: `unreturnedOutput`; probabilities [B, V]; and those of
 * the form of attention.
 */
export function decodeGraph(config: ModelConfig, form: DecodeForm, options: GraphOptions = {}): Graph {
  const graph = new Graph(options);
  graph.withoutGradient(() => new DecodeGraphBuilder(graph, config, form).build());
  return graph;
}

/** Returns whether the graph has GroupedAttention. Results in single precision stay the same to the last digit without it. */
export function isGrouped({ headDim }: ModelConfig, { format }: Pick<DecodeForm, 'format'>, isFused = true): boolean {
  return isFused && format !== undefined && format !== 'float32' && headDim % 16 === 0;
}

/**
 * The residual stream: its sum so far, and the summand that the next norm adds, because a fused norm adds and
 * normalizes in one operator.
 */
type Stream = { readonly sum: Value; readonly pending: Value | null };

/** Attends from new tokens to past and new tokens. */
export type DecodeAttention = {
  /** Takes [N, (H + 2 KV) * headDim], which is queries, keys and values side by side. Returns [N, H * headDim]. */
  attend(layer: number, projected: Value): Value;
  /** Adds the outputs after the last layer. */
  finish(): void;
};

class DecodeGraphBuilder {
  readonly #graph: Graph;
  readonly #config: ModelConfig;
  readonly #weights: DecodeWeights;
  readonly #form: DecodeForm;

  constructor(graph: Graph, config: ModelConfig, form: DecodeForm) {
    this.#graph = graph;
    this.#config = config;
    this.#form = form;
    this.#weights = new DecodeWeights(graph, form.layout, form.format ?? 'float32');
  }

  build(): void {
    const { hiddenSize, numLayers, isTied } = this.#config;
    const graph = this.#graph;
    graph.output(unreturnedOutput, graph.node('SequenceEmpty', [], { shape: [], type: 'sequence' }));
    let stream: Stream = { sum: this.#weights.embed(hiddenSize), pending: null };
    const attention = isGrouped(this.#config, this.#form, this.#graph.isFused)
      ? new GroupedAttention(this.#graph, this.#config, this.#weights)
      : new PlainAttention(this.#graph, this.#config, this.#weights);
    for (let layer = 0; layer < numLayers; layer += 1) stream = this.#block(layer, stream, attention);
    const hidden = this.#gather(
      this.#norm('model.norm.weight', stream).normalized,
      this.#graph.input('last', ['B'], 'int32'),
      hiddenSize,
    );
    const logits = this.#weights.product(hidden, [isTied ? 'model.embed_tokens' : 'lm_head']);
    const scaled = multiply(logits, this.#graph.input('inverse_temperature', ['B', 1]));
    this.#graph.output('probabilities', softmax(scaled));
    attention.finish();
  }

  #block(layer: number, stream: Stream, attention: DecodeAttention): Stream {
    const prefix = `model.layers.${layer}.`;
    const before = this.#norm(`${prefix}input_layernorm.weight`, stream);
    const projections = ['q_proj', 'k_proj', 'v_proj'].map((name) => `${prefix}self_attn.${name}`);
    const attended = this.#product(
      [`${prefix}self_attn.o_proj`],
      attention.attend(layer, this.#product(projections, before.normalized)),
    );
    const between = this.#norm(`${prefix}post_attention_layernorm.weight`, { sum: before.sum, pending: attended });
    return { sum: between.sum, pending: this.#feedForward(`${prefix}mlp.`, between.normalized) };
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
    const joined = this.#form.adapters?.join(names.map((name) => ({ name, numOut: this.#weights.numOut(name) })));
    if (joined === undefined) return output;
    const input = ({ name, shape, content }: JoinedMatrix): Value =>
      content === undefined ? this.#graph.input(name, shape) : this.#graph.externalInput(name, shape, content);
    const [a, b] = [input(joined.a), input(joined.b)];
    return gemm(gemm(hidden, a, { transposeRight: true }), b, { bias: output });
  }

  #gather(table: Value, index: Value, width: number): Value {
    return this.#graph.node('Gather', [table, index], { shape: [...index.shape, width] }, { attributes: { axis: 0 } });
  }
}
