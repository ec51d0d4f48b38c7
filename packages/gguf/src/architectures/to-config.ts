import { BackboneError, type JsonObject } from '@agentjet/core';
import { numberAt, shortestFloat32, textAt } from '../metadata.js';
import type { GgufFile } from '../read-gguf.js';
import { findTokenId } from '../tokenizer/token-ids.js';
import { findLlama3Scaling } from './llama3-frequencies.js';
import type { GgufShape } from './read-shape.js';
import { embeddingTensor, frequencyTensor } from './tensor-names.js';

export type ConfigParts = {
  readonly shape: GgufShape;
  readonly isTied: boolean;
  /** The values of `rope_freqs.weight`, if the file has it. */
  readonly frequencyFactors: Float32Array | undefined;
  /** The dtype that holds every weight of the folder exactly. */
  readonly dtype: 'float32' | 'float16' | 'bfloat16';
};

/**
 * Returns the config.json of a model folder. Throws BackboneError `unsupported_model` if config.json cannot express the
 * model's positions.
 */
export function toConfig(gguf: GgufFile, { shape, isTied, frequencyFactors, dtype }: ConfigParts): JsonObject {
  const { architecture } = shape;
  const token = (name: string): number | null => findTokenId(gguf, name) ?? null;
  return {
    architectures: [architecture.className],
    model_type: architecture.name,
    vocab_size: gguf.tensors.get(embeddingTensor)?.shape[0] ?? 0,
    hidden_size: shape.hiddenSize,
    intermediate_size: shape.intermediateSize,
    num_hidden_layers: shape.numLayers,
    num_attention_heads: shape.numHeads,
    num_key_value_heads: shape.numKvHeads,
    head_dim: shape.headDim,
    hidden_act: 'silu',
    max_position_embeddings: shape.contextLength,
    rms_norm_eps: shape.rmsNormEpsilon,
    rope_theta: shape.theta,
    ...toRopeScaling(gguf, { shape, frequencyFactors }),
    ...toSlidingWindow(gguf, shape),
    tie_word_embeddings: isTied,
    attention_dropout: 0,
    ...(architecture.alwaysHasBias ? {} : { attention_bias: gguf.tensors.has('blk.0.attn_q.bias') }),
    bos_token_id: token('bos'),
    eos_token_id: token('eos'),
    pad_token_id: token('padding') ?? token('eos'),
    torch_dtype: dtype,
  };
}

/** Older files have a factor without a type, which is then linear. A factor of 0 has no effect. */
function toRopeScaling(
  gguf: GgufFile,
  { shape, frequencyFactors }: Pick<ConfigParts, 'shape' | 'frequencyFactors'>,
): JsonObject {
  if (frequencyFactors !== undefined) return toLlama3(gguf, { shape, frequencyFactors });
  const key = `${shape.architecture.name}.rope.scaling`;
  const type = textAt(gguf, `${key}.type`) ?? 'linear';
  const factor = numberAt(gguf, `${key}.factor`) ?? numberAt(gguf, `${shape.architecture.name}.rope.scale_linear`) ?? 0;
  if (type === 'none' || factor === 0 || factor === 1) return {};
  const original = numberAt(gguf, `${key}.original_context_length`);
  return {
    rope_scaling: {
      rope_type: type,
      factor: shortestFloat32(factor),
      ...(original === undefined ? {} : { original_max_position_embeddings: original }),
    },
  };
}

type Llama3Parts = { readonly shape: GgufShape; readonly frequencyFactors: Float32Array };

function toLlama3({ file }: GgufFile, { shape, frequencyFactors }: Llama3Parts): JsonObject {
  const scaling = findLlama3Scaling(frequencyFactors, shape);
  if (scaling === undefined)
    throw new BackboneError(
      'unsupported_model',
      `The factors in ${frequencyTensor} of ${file} are not those of Llama 3.1 and later, so config.json cannot express them. Use the model's folder in the Hugging Face layout, or its name on the hub.`,
    );
  return {
    rope_scaling: {
      rope_type: 'llama3',
      factor: shortestFloat32(scaling.factor),
      low_freq_factor: scaling.lowFrequencyFactor,
      high_freq_factor: scaling.highFrequencyFactor,
      original_max_position_embeddings: scaling.originalContextLength,
    },
  };
}

/**
 * Copies the sliding window to config.json, although no supported engine has one, so that the engine refuses the
 * setting by name.
 */
function toSlidingWindow(gguf: GgufFile, { architecture }: GgufShape): JsonObject {
  const window = numberAt(gguf, `${architecture.name}.attention.sliding_window`) ?? 0;
  return window === 0 ? {} : { sliding_window: window, use_sliding_window: true };
}
