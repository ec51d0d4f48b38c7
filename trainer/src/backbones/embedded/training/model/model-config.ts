/** Reads the properties of a model that the embedded engine needs from a Hugging Face config.json. */

import { BackboneError, isJsonObject, type JsonObject } from '@agentjet/core';

/**
 * A decoder of the Qwen2, Qwen3 or Llama shape, with RMSNorm, rotary positions, grouped-query attention and SwiGLU.
 *
 * Worked example, Qwen2.5-0.5B: `{ family: 'qwen2', vocabSize: 151936, hiddenSize: 896, numLayers: 24, numHeads: 14,
 * numKvHeads: 2, headDim: 64, intermediateSize: 4864, contextLength: 32768, rmsNormEpsilon: 1e-6, rope: { theta:
 * 1000000 }, isTied: true, hasQkvBias: true, hasOutputBias: false, hasHeadNorms: false }`.
 */
export type ModelConfig = {
  readonly family: 'qwen2' | 'qwen3' | 'llama';
  readonly vocabSize: number;
  readonly hiddenSize: number;
  readonly numLayers: number;
  readonly numHeads: number;
  /** The number of heads of keys and values; it divides `numHeads`. */
  readonly numKvHeads: number;
  /** An even number. */
  readonly headDim: number;
  readonly intermediateSize: number;
  /** The number of positions that the model was made for. */
  readonly contextLength: number;
  readonly rmsNormEpsilon: number;
  readonly rope: RopeConfig;
  /** The language model head is the embedding matrix. */
  readonly isTied: boolean;
  readonly hasQkvBias: boolean;
  readonly hasOutputBias: boolean;
  /** Each head of queries and keys is normalized separately before it is rotated (Qwen3). */
  readonly hasHeadNorms: boolean;
};

export type RopeConfig = {
  readonly theta: number;
  /** The frequency scaling of Llama 3.1. */
  readonly llama3?: {
    readonly factor: number;
    readonly lowFrequencyFactor: number;
    readonly highFrequencyFactor: number;
    readonly originalContextLength: number;
  };
};

/** Throws BackboneError `unsupported_model`, with the key and the value, for a config that the engine cannot run. */
export function parseModelConfig(json: unknown): ModelConfig {
  const config = asObject(json, 'config.json');
  const family = parseFamily(config);
  refuseUnsupported(config);
  const [hiddenSize, numHeads] = [count(config, 'hidden_size'), count(config, 'num_attention_heads')];
  const hasAttentionBias = flag(config, 'attention_bias', false);
  const parsed: ModelConfig = {
    family,
    vocabSize: count(config, 'vocab_size'),
    hiddenSize,
    numLayers: count(config, 'num_hidden_layers'),
    numHeads,
    numKvHeads: count(config, 'num_key_value_heads', numHeads),
    headDim: count(config, 'head_dim', family === 'qwen3' ? 128 : hiddenSize / numHeads),
    intermediateSize: count(config, 'intermediate_size'),
    contextLength: count(config, 'max_position_embeddings', family === 'llama' ? 2048 : 32768),
    rmsNormEpsilon: positive(config, 'rms_norm_eps', 1e-6),
    rope: parseRope(config),
    isTied: flag(config, 'tie_word_embeddings', false),
    hasQkvBias: family === 'qwen2' || hasAttentionBias,
    hasOutputBias: family !== 'qwen2' && hasAttentionBias,
    hasHeadNorms: family === 'qwen3',
  };
  refuseOddHeads(parsed);
  return parsed;
}

function parseFamily(config: JsonObject): ModelConfig['family'] {
  const type = config['model_type'];
  if (type === 'qwen2' || type === 'qwen3' || type === 'llama') return type;
  throw unsupported('model_type', type, '"qwen2" (Qwen2, Qwen2.5), "qwen3" and "llama"');
}

/** Keys that change the computation, with the only values that this engine supports. */
const supportedValues: { readonly [key: string]: readonly unknown[] } = {
  hidden_act: ['silu'],
  use_sliding_window: [false],
  mlp_bias: [false],
  attention_dropout: [0],
  partial_rotary_factor: [1],
  quantization_config: [],
};

function refuseUnsupported(config: JsonObject): void {
  for (const [key, supported] of Object.entries(supportedValues)) {
    const value = config[key];
    if (value === undefined || value === null || supported.includes(value)) continue;
    throw unsupported(
      key,
      value,
      supported.length === 0 ? 'a model without it' : supported.map((one) => JSON.stringify(one)).join(', '),
    );
  }
  const sliding = Array.isArray(config['layer_types'])
    ? config['layer_types'].find((type) => type !== 'full_attention')
    : undefined;
  if (sliding !== undefined) throw unsupported('layer_types', sliding, '"full_attention" in every layer');
}

function refuseOddHeads({ numHeads, numKvHeads, headDim }: ModelConfig): void {
  if (numHeads % numKvHeads !== 0)
    throw unsupported('num_key_value_heads', numKvHeads, `a divisor of num_attention_heads (${numHeads})`);
  if (headDim % 2 !== 0) throw unsupported('head_dim', headDim, 'an even number');
}

/** Transformers 4 writes `rope_theta` and `rope_scaling`; version 5 writes both into `rope_parameters`. */
function parseRope(config: JsonObject): RopeConfig {
  const scaling = asObject(config['rope_parameters'] ?? config['rope_scaling'] ?? {}, 'rope_scaling');
  const theta = positive('rope_theta' in scaling ? scaling : config, 'rope_theta', 10000);
  const type = scaling['rope_type'] ?? scaling['type'] ?? 'default';
  if (type === 'default') return { theta };
  if (type !== 'llama3') throw unsupported('rope_scaling.rope_type', type, '"default" and "llama3"');
  return {
    theta,
    llama3: {
      factor: positive(scaling, 'factor'),
      lowFrequencyFactor: positive(scaling, 'low_freq_factor'),
      highFrequencyFactor: positive(scaling, 'high_freq_factor'),
      originalContextLength: count(scaling, 'original_max_position_embeddings'),
    },
  };
}

function asObject(value: unknown, name: string): JsonObject {
  if (isJsonObject(value)) return value;
  throw unsupported(name, value, 'a JSON object');
}

function count(config: JsonObject, key: string, fallback?: number): number {
  const value = config[key] ?? fallback;
  if (typeof value === 'number' && Number.isInteger(value) && value > 0) return value;
  throw unsupported(key, value, 'a positive whole number');
}

function positive(config: JsonObject, key: string, fallback?: number): number {
  const value = config[key] ?? fallback;
  if (typeof value === 'number' && Number.isFinite(value) && value > 0) return value;
  throw unsupported(key, value, 'a positive number');
}

function flag(config: JsonObject, key: string, fallback: boolean): boolean {
  const value = config[key] ?? fallback;
  if (typeof value === 'boolean') return value;
  throw unsupported(key, value, 'true or false');
}

function unsupported(key: string, value: unknown, supported: string): BackboneError {
  const seen = value === undefined ? 'is missing' : `is ${JSON.stringify(value)}`;
  return new BackboneError(
    'unsupported_model',
    `This model cannot run in the onnx backbone: "${key}" of config.json ${seen}. Supported: ${supported}.`,
  );
}
