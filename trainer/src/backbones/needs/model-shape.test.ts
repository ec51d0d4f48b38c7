import { readFileSync } from 'node:fs';
import path from 'node:path';
import type { JsonObject } from '@agentjet/core';
import { expect, it } from 'vitest';
import { readTensorEntries } from '../../model-files/safetensors.js';
import { parseModelConfig } from '../embedded/training/model/model-config.js';
import { countParameters, parameterLayout } from '../embedded/training/model/parameter-layout.js';
import { readModelShape } from './model-shape.js';

const packages = path.resolve(import.meta.dirname, '../../../../packages');

it.each([
  ['nano', 468_576],
  ['micro', 903_296],
])('counts as many parameters as the tensors of %s hold: %i', async (name, numParameters) => {
  const folder = path.join(packages, name, 'model');
  const config = JSON.parse(readFileSync(path.join(folder, 'config.json'), 'utf8')) as JsonObject;
  const entries = await readTensorEntries(path.join(folder, 'model.safetensors'));
  const sizes = entries.map(({ shape }) => shape.reduce((product, length) => product * length, 1));
  expect(sizes.reduce((sum, size) => sum + size, 0)).toBe(numParameters);
  expect(readModelShape(config).numParameters).toBe(numParameters);
});

const sizes = {
  vocab_size: 100,
  hidden_size: 32,
  num_hidden_layers: 3,
  num_attention_heads: 4,
  num_key_value_heads: 2,
  intermediate_size: 48,
};

it.each([
  { model_type: 'qwen2', tie_word_embeddings: true },
  { model_type: 'qwen2', tie_word_embeddings: false },
  { model_type: 'qwen3' },
  { model_type: 'qwen3', head_dim: 16, attention_bias: true },
  { model_type: 'llama' },
  { model_type: 'llama', attention_bias: true },
])('counts what the embedded engine trains: %o', (own) => {
  const config = { ...sizes, ...own };
  const layout = parameterLayout(parseModelConfig(config));
  expect(readModelShape(config).numParameters).toBe(countParameters(layout));
});

it('counts the biases of a model with several kinds of input as those of its text', () => {
  const text = { ...sizes, model_type: 'qwen2_5_vl_text' };
  const alone = readModelShape({ ...sizes, model_type: 'qwen2' }).numParameters;
  expect(readModelShape({ model_type: 'qwen2_5_vl', text_config: text }).numParameters).toBe(alone);
  expect(readModelShape({ model_type: 'qwen2_5_vl', text_config: sizes }).numParameters).toBe(alone);
});
