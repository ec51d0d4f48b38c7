import { BackboneError } from '@agentjet/core';
import { describe, expect, test } from 'vitest';
import { parseModelConfig } from './model-config.js';
import { countParameters, parameterLayout } from './parameter-layout.js';
import { ropeFrequencies } from './rope-tables.js';

const qwen = {
  architectures: ['Qwen2ForCausalLM'],
  attention_dropout: 0.0,
  bos_token_id: 151643,
  eos_token_id: 151645,
  hidden_act: 'silu',
  hidden_size: 896,
  initializer_range: 0.02,
  intermediate_size: 4864,
  max_position_embeddings: 32768,
  max_window_layers: 21,
  model_type: 'qwen2',
  num_attention_heads: 14,
  num_hidden_layers: 24,
  num_key_value_heads: 2,
  rms_norm_eps: 1e-6,
  rope_theta: 1000000.0,
  sliding_window: 32768,
  tie_word_embeddings: true,
  torch_dtype: 'bfloat16',
  use_cache: true,
  use_sliding_window: false,
  vocab_size: 151936,
};
const llama = {
  architectures: ['LlamaForCausalLM'],
  attention_bias: false,
  head_dim: 64,
  hidden_act: 'silu',
  hidden_size: 2048,
  intermediate_size: 8192,
  max_position_embeddings: 131072,
  mlp_bias: false,
  model_type: 'llama',
  num_attention_heads: 32,
  num_hidden_layers: 16,
  num_key_value_heads: 8,
  pretraining_tp: 1,
  rms_norm_eps: 1e-5,
  rope_theta: 500000.0,
  tie_word_embeddings: true,
  vocab_size: 128256,
  rope_scaling: {
    factor: 32.0,
    high_freq_factor: 4.0,
    low_freq_factor: 1.0,
    original_max_position_embeddings: 8192,
    rope_type: 'llama3',
  },
};

test('Qwen2.5-0.5B, as published', () => {
  const config = parseModelConfig(qwen);
  expect(config).toEqual({
    family: 'qwen2',
    vocabSize: 151936,
    hiddenSize: 896,
    numLayers: 24,
    numHeads: 14,
    numKvHeads: 2,
    headDim: 64,
    intermediateSize: 4864,
    contextLength: 32768,
    rmsNormEpsilon: 1e-6,
    rope: { theta: 1000000 },
    isTied: true,
    hasQkvBias: true,
    hasOutputBias: false,
    hasHeadNorms: false,
  });
  expect(countParameters(parameterLayout(config))).toBe(494_032_768);
});

test('Qwen3-0.6B, as published', () => {
  const config = parseModelConfig({
    model_type: 'qwen3',
    attention_bias: false,
    attention_dropout: 0,
    head_dim: 128,
    hidden_act: 'silu',
    hidden_size: 1024,
    intermediate_size: 3072,
    max_position_embeddings: 40_960,
    max_window_layers: 28,
    num_attention_heads: 16,
    num_hidden_layers: 28,
    num_key_value_heads: 8,
    rms_norm_eps: 1e-6,
    rope_scaling: null,
    rope_theta: 1_000_000,
    sliding_window: null,
    tie_word_embeddings: true,
    use_sliding_window: false,
    vocab_size: 151_936,
  });
  expect(config).toMatchObject({ family: 'qwen3', headDim: 128, hasQkvBias: false, hasHeadNorms: true });
  expect(countParameters(parameterLayout(config))).toBe(596_049_920);
});

test('Llama-3.2-1B, as published', () => {
  const config = parseModelConfig(llama);
  expect(config).toMatchObject({
    family: 'llama',
    headDim: 64,
    hasQkvBias: false,
    isTied: true,
    rope: { theta: 500000, llama3: { factor: 32 } },
  });
  expect(countParameters(parameterLayout(config))).toBe(1_235_814_400);
});

test('Llama 3.1 keeps short wavelengths, stretches long ones and blends between', () => {
  const config = parseModelConfig(llama);
  const plain = ropeFrequencies(parseModelConfig({ ...llama, rope_scaling: null }));
  const ratios = ropeFrequencies(config).map((frequency, index) => frequency / (plain[index] ?? 1));
  expect(ratios[0]).toBe(1);
  expect(ratios.at(-1)).toBeCloseTo(1 / 32, 10);
  expect(ratios.some((ratio) => ratio > 0.05 && ratio < 0.95)).toBe(true);
});

test('the rope_parameters of transformers 5 mean the same as rope_theta', () => {
  const { rope_theta: theta, ...rest } = qwen;
  expect(parseModelConfig({ ...rest, rope_parameters: { rope_theta: theta, rope_type: 'default' } })).toEqual(
    parseModelConfig(qwen),
  );
});

describe('what cannot run is refused with key, value and what is supported', () => {
  test.each([
    [
      { model_type: 'gemma2' },
      '"model_type" of config.json is "gemma2". Supported: "qwen2" (Qwen2, Qwen2.5), "qwen3" and "llama"',
    ],
    [{ model_type: undefined }, '"model_type" of config.json is missing'],
    [{ hidden_act: 'gelu' }, '"hidden_act" of config.json is "gelu". Supported: "silu"'],
    [{ use_sliding_window: true }, '"use_sliding_window" of config.json is true. Supported: false'],
    [{ layer_types: ['full_attention', 'sliding_attention'] }, '"layer_types" of config.json is "sliding_attention"'],
    [
      { rope_scaling: { rope_type: 'yarn', factor: 4 } },
      '"rope_scaling.rope_type" of config.json is "yarn". Supported: "default" and "llama3"',
    ],
    [
      { quantization_config: { bits: 4 } },
      '"quantization_config" of config.json is {"bits":4}. Supported: a model without it',
    ],
    [
      { num_key_value_heads: 4 },
      '"num_key_value_heads" of config.json is 4. Supported: a divisor of num_attention_heads (14)',
    ],
    [{ hidden_size: 897 }, '"head_dim" of config.json is 64.07'],
    [{ head_dim: 63 }, '"head_dim" of config.json is 63. Supported: an even number'],
    [{ vocab_size: '151936' }, '"vocab_size" of config.json is "151936". Supported: a positive whole number'],
    [{ num_hidden_layers: undefined }, '"num_hidden_layers" of config.json is missing'],
    [{ rms_norm_eps: 0 }, '"rms_norm_eps" of config.json is 0. Supported: a positive number'],
    [{ tie_word_embeddings: 'yes' }, '"tie_word_embeddings" of config.json is "yes". Supported: true or false'],
  ])('%j', (change, message) => {
    expect(() => parseModelConfig({ ...qwen, ...change })).toThrow(BackboneError);
    expect(() => parseModelConfig({ ...qwen, ...change })).toThrow(message);
  });

  test('something that is not an object', () => {
    expect(() => parseModelConfig([qwen])).toThrow('Supported: a JSON object');
  });
});

test('parameters do not overlap, matrices come first, and one projection group is one block', () => {
  const { parameters, length, decayedLength } = parameterLayout(
    parseModelConfig({ ...qwen, num_hidden_layers: 2, hidden_size: 70, head_dim: 10, vocab_size: 33 }),
  );
  const inOrder = parameters.toSorted((left, right) => left.offset - right.offset);
  for (const [index, { offset, size, shape }] of inOrder.entries()) {
    expect(offset + size).toBeLessThanOrEqual(inOrder[index + 1]?.offset ?? length);
    expect(offset < decayedLength).toBe(shape.length === 2);
  }
  const offsetOf = (name: string) =>
    parameters.find((parameter) => parameter.name === `model.layers.1.self_attn.${name}`);
  for (const kind of ['weight', 'bias']) {
    const [query, key, value] = ['q', 'k', 'v'].map((letter) => offsetOf(`${letter}_proj.${kind}`));
    expect(key?.offset).toBe((query?.offset ?? 0) + (query?.size ?? 0));
    expect(value?.offset).toBe((key?.offset ?? 0) + (key?.size ?? 0));
  }
});
