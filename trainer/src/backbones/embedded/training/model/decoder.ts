/**
 * The decoder over whole sequences, for training and scoring. Its inputs are embedding rows, and its outputs are
 * normalized hidden states.
 */

import { add, multiply, silu } from '../graph/elementwise.js';
import { storedProduct, type StoredMatrix } from '../frozen/frozen-inputs.js';
import { gemm } from '../graph/matmul.js';
import { concat, reshape, transpose } from '../graph/reshape.js';
import { dimAt } from '../graph/value.js';
import { attention } from '../layers/attention.js';
import { gatedSilu } from '../layers/gated-silu.js';
import { addLowRank } from '../layers/low-rank.js';
import { pathGather } from '../layers/path-gather.js';
import { rmsNorm } from '../layers/rms-norm.js';
import { rope } from '../layers/rope.js';
import type { Dim, Value } from '../graph/value.js';
import type { PathInputs } from '../layers/path-gather.js';
import type { Rotation } from '../layers/rope.js';
import type { ModelConfig } from './model-config.js';

/** Graph values of the parameters, by their names in transformers. */
export type ParameterValues = ReadonlyMap<string, Value>;

/** Matrices that are not among the parameters, because they are stored in fewer bits. */
export type StoredMatrices = ReadonlyMap<string, StoredMatrix>;

export type DecoderInputs = {
  /** Shape [N, hiddenSize], N = B * T. */
  readonly embedded: Value;
  readonly rotation: Rotation;
  /**
   * Shape [B, 1, T, keys]: 0 if a query sees a key, very negative otherwise. The keys are the row, after its path if
   * there is one.
   */
  readonly bias: Value;
  readonly paths: PathInputs | undefined;
  readonly stored: StoredMatrices;
  /** The scale of the adapters among the parameters. Undefined if there are none. */
  readonly adapterScale: number | undefined;
  /** True if the backward pass computes each layer again. Only the states between layers then stay in memory. */
  readonly isRecomputed: boolean;
};

/** Returns hidden states [N, hiddenSize] after the last norm. */
export function decoder(config: ModelConfig, parameters: ParameterValues, inputs: DecoderInputs): Value {
  let hidden = inputs.embedded;
  const { graph } = hidden;
  for (let layer = 0; layer < config.numLayers; layer++) {
    const block: Block = {
      config,
      parameters,
      stored: inputs.stored,
      prefix: `model.layers.${layer}.`,
      adapterScale: inputs.adapterScale,
    };
    const build = (states: Value): Value => {
      const attended = add(states, selfAttention(block, normalized(block, 'input_layernorm', states), inputs));
      return add(attended, feedForward(block, normalized(block, 'post_attention_layernorm', attended)));
    };
    hidden = graph.endStage(inputs.isRecomputed ? graph.recomputed(hidden, build) : build(hidden));
  }
  return rmsNorm(hidden, parameter(parameters, 'model.norm.weight'), config.rmsNormEpsilon);
}

/** Returns a parameter that must exist. */
export function parameter(parameters: ParameterValues, name: string): Value {
  const value = parameters.get(name);
  if (value === undefined) throw new Error(`The graph has no parameter "${name}".`);
  return value;
}

type Block = {
  readonly config: ModelConfig;
  readonly parameters: ParameterValues;
  readonly stored: StoredMatrices;
  readonly prefix: string;
  readonly adapterScale: number | undefined;
};

function normalized({ config, parameters, prefix }: Block, name: string, hidden: Value): Value {
  return rmsNorm(hidden, parameter(parameters, `${prefix}${name}.weight`), config.rmsNormEpsilon);
}

/** Returns input W^T + bias, for a matrix W among the parameters or the stored matrices. */
export function product(
  input: Value,
  name: string,
  { parameters, stored, bias }: Pick<Block, 'parameters' | 'stored'> & { readonly bias?: Value | undefined },
): Value {
  const matrix = stored.get(name);
  if (matrix !== undefined) return storedProduct(input, matrix, bias);
  return gemm(input, parameter(parameters, name), { transposeRight: true, ...(bias === undefined ? {} : { bias }) });
}

function linear({ parameters, stored, prefix, adapterScale: scale }: Block, name: string, input: Value): Value {
  const bias = parameters.get(`${prefix}${name}.bias`);
  const output = product(input, `${prefix}${name}.weight`, { parameters, stored, bias });
  const [a, b] = [parameters.get(`${prefix}${name}.lora_A.weight`), parameters.get(`${prefix}${name}.lora_B.weight`)];
  return scale === undefined || a === undefined || b === undefined
    ? output
    : addLowRank(output, input, { a, b, scale });
}

function selfAttention(block: Block, hidden: Value, { rotation, bias, paths }: DecoderInputs): Value {
  const { numHeads, numKvHeads, headDim } = block.config;
  const [batch, time] = [dimAt(rotation.positions.shape, 0), dimAt(rotation.positions.shape, 1)];
  const asRows = (tokens: Value, heads: number) => reshape(tokens, [batch, time, heads * headDim]);
  const queries = headNorm(block, 'q_norm', linear(block, 'self_attn.q_proj', hidden));
  const keys = headNorm(block, 'k_norm', linear(block, 'self_attn.k_proj', hidden));
  const query = rope(asRows(queries, numHeads), rotation, numHeads);
  const key = rope(asRows(keys, numKvHeads), rotation, numKvHeads);
  const value = asRows(linear(block, 'self_attn.v_proj', hidden), numKvHeads);
  const rowsPerKeyHead = hidden.graph.defineDim('rows_per_key_head', [numHeads / numKvHeads, time]);
  const output = attention({
    query: reshape(headsFirst(query, numHeads), [batch, numKvHeads, rowsPerKeyHead, headDim]),
    key: headsFirst(withPath(key, paths), numKvHeads),
    value: headsFirst(withPath(value, paths), numKvHeads),
    bias,
    scoreShape: [batch, numHeads, time, dimAt(bias.shape, 3)],
    scale: 1 / Math.sqrt(headDim),
  });
  const tokens = transpose(reshape(output, [batch, numHeads, time, headDim]), [0, 2, 1, 3]);
  return linear(block, 'self_attn.o_proj', reshape(tokens, [dimAt(hidden.shape, 0), numHeads * headDim]));
}

/** Normalizes each head of [N, heads * headDim] separately, if the model does. */
function headNorm({ config, parameters, prefix }: Block, name: string, value: Value): Value {
  if (!config.hasHeadNorms) return value;
  const weight = parameter(parameters, `${prefix}self_attn.${name}.weight`);
  const [tokens, width] = value.shape as readonly [Dim, number];
  const numHeads = width / config.headDim;
  const rows = value.graph.defineDim(`${tokens} * ${numHeads} heads`, [tokens, numHeads]);
  return reshape(rmsNorm(reshape(value, [rows, config.headDim]), weight, config.rmsNormEpsilon), value.shape);
}

/** Turns [B, T, width] of a row's tokens into [B, S + T, width], with the tokens of its path first. */
function withPath(value: Value, paths: PathInputs | undefined): Value {
  if (paths === undefined) return value;
  const [batch, time, width] = value.shape as readonly [Dim, Dim, number];
  const tokens = reshape(value, [value.graph.defineDim('N', [batch, time]), width]);
  return concat([pathGather(tokens, paths), value], 1, 'keys');
}

/** Turns [B, T, heads * headDim] into [B, heads, T, headDim]. */
function headsFirst(value: Value, numHeads: number): Value {
  const [batch, time, width] = value.shape as readonly [Dim, Dim, number];
  return transpose(reshape(value, [batch, time, numHeads, width / numHeads]), [0, 2, 1, 3]);
}

function feedForward(block: Block, hidden: Value): Value {
  const gate = linear(block, 'mlp.gate_proj', hidden);
  const up = (): Value => linear(block, 'mlp.up_proj', hidden);
  // Training of all weights repeats to the last bit of kept results, and `gatedSilu` rounds differently.
  const opened = block.adapterScale === undefined ? multiply(silu(gate), up()) : gatedSilu(gate, up());
  return linear(block, 'mlp.down_proj', opened);
}
