import { BackboneError, isJsonObject, textConfigOf, type JsonObject } from '@agentjet/core';
import type { ModelFolder } from '@agentjet/trainer/model-files';
import type { Llama3Scaling } from '../architectures/llama3-frequencies.js';
import type { GgufShape } from '../architectures/read-shape.js';
import { architectures } from '../architectures/registrations.js';

/** The part of config.json that a GGUF file can express. */
export type FolderShape = GgufShape & {
  readonly vocabSize: number;
  readonly isTied: boolean;
  readonly scaling: RopeScaling | undefined;
};

type RopeScaling =
  | ({ readonly type: 'llama3' } & Llama3Scaling)
  | { readonly type: 'linear' | 'yarn'; readonly factor: number; readonly originalContextLength: number | undefined };

/**
 * Keys that change what a model computes, with the values that a GGUF file of these architectures implies. Other values
 * cannot be written.
 */
const meantValues: { readonly [key: string]: readonly unknown[] } = {
  hidden_act: ['silu'],
  use_sliding_window: [false],
  partial_rotary_factor: [1],
  quantization_config: [],
};

/**
 * Reads the shape of a model folder. Throws BackboneError `unsupported_model` if a key cannot be written, and names the
 * key.
 */
export function readFolderShape({ dir, config: whole }: ModelFolder): FolderShape {
  const config = textConfigOf(whole);
  const unsupported = (key: string, can: string): BackboneError =>
    new BackboneError(
      'unsupported_model',
      `${dir} cannot be written as GGUF: "${key}" in config.json is ${JSON.stringify(config[key])}; it can be ${can}. Export a folder instead, and convert it with llama.cpp's convert_hf_to_gguf.py.`,
    );
  const architecture = architectures.find(({ name }) => name === config['model_type']);
  if (architecture === undefined) throw unsupported('model_type', architectures.map(({ name }) => name).join(', '));
  for (const [key, meant] of Object.entries(meantValues)) {
    const value = config[key] ?? null;
    if (value !== null && !meant.includes(value)) throw unsupported(key, meant.join(', ') || 'missing');
  }
  const count = (key: string, fallback?: number): number => {
    const value = config[key] ?? fallback;
    if (typeof value === 'number' && Number.isInteger(value) && value > 0) return value;
    throw unsupported(key, 'a positive whole number');
  };
  const [hiddenSize, numHeads] = [count('hidden_size'), count('num_attention_heads')];
  const rope = isJsonObject(config['rope_parameters']) ? config['rope_parameters'] : config;
  return {
    architecture,
    vocabSize: count('vocab_size'),
    numLayers: count('num_hidden_layers'),
    hiddenSize,
    intermediateSize: count('intermediate_size'),
    numHeads,
    numKvHeads: count('num_key_value_heads', numHeads),
    headDim: count('head_dim', architecture.hasHeadNorms ? 128 : hiddenSize / numHeads),
    contextLength: count('max_position_embeddings'),
    theta: numberOf(rope['rope_theta'] ?? config['rope_theta'], 10_000),
    rmsNormEpsilon: numberOf(config['rms_norm_eps'], 1e-6),
    isTied: config['tie_word_embeddings'] === true || whole['tie_word_embeddings'] === true,
    scaling: readScaling(config, unsupported),
  };
}

function numberOf(value: unknown, fallback: number): number {
  return typeof value === 'number' ? value : fallback;
}

function readScaling(
  config: JsonObject,
  unsupported: (key: string, can: string) => BackboneError,
): RopeScaling | undefined {
  const key = isJsonObject(config['rope_parameters']) ? 'rope_parameters' : 'rope_scaling';
  const scaling = isJsonObject(config[key]) ? config[key] : {};
  const type = scaling['rope_type'] ?? scaling['type'] ?? 'default';
  if (type === 'default') return undefined;
  const factor = numberOf(scaling['factor'], 1);
  const original = scaling['original_max_position_embeddings'];
  const originalContextLength = typeof original === 'number' ? original : undefined;
  if (type === 'linear' || type === 'yarn') return { type, factor, originalContextLength };
  if (type !== 'llama3' || originalContextLength === undefined)
    throw unsupported(key, 'of type default, linear, yarn or llama3');
  return {
    type,
    factor,
    lowFrequencyFactor: numberOf(scaling['low_freq_factor'], 1),
    highFrequencyFactor: numberOf(scaling['high_freq_factor'], 4),
    originalContextLength,
  };
}
