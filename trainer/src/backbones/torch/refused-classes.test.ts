import { readFileSync } from 'node:fs';
import path from 'node:path';
import type { JsonObject } from '@agentjet/core';
import { expect, test } from 'vitest';
import { refuseClass, refusedClasses } from './refused-classes.js';

const file = path.join(import.meta.dirname, '../../../../test/bench/results/right-families.json');

test('the classes that are refused before Python is started are those that the worker refuses', () => {
  const { families } = JSON.parse(readFileSync(file, 'utf8')) as { readonly families: Record<string, string> };
  const refused = Object.keys(families).filter((name) => families[name] === 'refused');
  expect([...refusedClasses].toSorted()).toEqual(refused.toSorted());
});

test.each<[JsonObject, RegExp]>([
  [{ architectures: ['GptOssForCausalLM'] }, /names the class GptOssForCausalLM/],
  [{ architectures: ['NemotronForCausalLM'] }, /names the class NemotronForCausalLM/],
  [{ architectures: ['Gemma3ForCausalLM'], final_logit_softcapping: 30 }, /sets final_logit_softcapping/],
  [{ text_config: { attn_logit_softcapping: 50 } }, /sets attn_logit_softcapping/],
  [{ layer_types: ['full_attention', 'linear_attention'] }, /has layers of type linear_attention/],
])('refuses what config.json shows to be beyond it: %j', (config, message) => {
  expect(() => {
    refuseClass(config);
  }).toThrow(message);
});

test.each<JsonObject>([
  { architectures: ['Qwen2ForCausalLM'], layer_types: ['full_attention'] },
  { architectures: ['GraniteForCausalLM'], logits_scaling: 8 },
  { architectures: ['Gemma3ForCausalLM'], final_logit_softcapping: null },
  { architectures: ['SomethingNewForCausalLM'] },
  {},
])('says nothing of %j', (config) => {
  refuseClass(config);
});
