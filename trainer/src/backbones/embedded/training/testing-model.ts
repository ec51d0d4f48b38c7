/** Makes the smallest model that has every kind of parameter, and samples for it. It is only for tests. */

import { createRandom } from '@agentjet/core';
import type { LossOptions, Sample } from '@agentjet/core';
import type { LoraOptions } from '../../lora-options.js';
import { toFrozenWeights, type WeightFormat } from './frozen/frozen-weights.js';
import { adapterForm } from './adapter/adapter-form.js';
import { initialWeights } from './model/initial-weights.js';
import { parseModelConfig } from './model/model-config.js';
import { parameterLayout } from './model/parameter-layout.js';
import { OnnxModel } from './onnx-model.js';
import type { ModelConfig } from './model/model-config.js';
import type { OnnxModelOptions } from './onnx-model.js';
import { adamOptions } from '../../../testing/adam-options.js';
import { plainLoss } from '../../../testing/plain-loss.js';

export const tinyConfigJson = {
  model_type: 'qwen2',
  vocab_size: 11,
  hidden_size: 8,
  num_hidden_layers: 2,
  num_attention_heads: 4,
  num_key_value_heads: 2,
  head_dim: 4,
  intermediate_size: 12,
  max_position_embeddings: 64,
  rms_norm_eps: 1e-6,
  tie_word_embeddings: true,
};

export const plainOptimizer = adamOptions(0.01, { beta2: 0.99, weightDecay: 0.01, maxGradNorm: 1 });

export const policyLoss: Extract<LossOptions, { readonly kind: 'policy' }> = {
  ...plainLoss,
  clipHigh: 0.28,
  klCoef: 0.1,
  entropyCoef: 0.01,
  temperature: 0.8,
};

export type TinyModelOptions = Partial<Pick<OnnxModelOptions, 'optimizer' | 'precision' | 'threads' | 'limits'>> & {
  /** Changes to tinyConfigJson. */
  readonly configJson?: object;
  /** Selects the weights of the frozen reference: the initial ones, or other random ones (the default). */
  readonly reference?: 'initial' | 'other';
  /** Trains an adapter whose A and B are both random. */
  readonly lora?: LoraOptions;
  /** How the weights under the adapter are stored. */
  readonly format?: WeightFormat;
};

/** All weights are random, and large enough to keep every gradient far from zero. Norms are around one. */
export function tinyModel({
  configJson,
  reference = 'other',
  lora,
  format = 'float32',
  ...options
}: TinyModelOptions = {}): OnnxModel {
  const config = parseModelConfig({ ...tinyConfigJson, ...configJson });
  if (lora !== undefined) return tinyAdapter(config, lora, { format, ...options });
  const ofReference = reference === 'other' ? { readReference: async () => lively(config, 2) } : {};
  return new OnnxModel({
    config,
    weights: lively(config, 1),
    optimizer: plainOptimizer,
    threads: 1,
    ...ofReference,
    ...options,
  });
}

function tinyAdapter(
  config: ModelConfig,
  lora: LoraOptions,
  { format, ...options }: Partial<OnnxModelOptions> & { readonly format: WeightFormat },
): OnnxModel {
  const layout = parameterLayout(config);
  const adapter = adapterForm(layout, lora);
  const floats = lively(config, 1);
  const values = options.precision === 'float64' ? Float64Array.from(floats) : floats;
  const weights = format === 'float32' ? ({ format, values } as const) : toFrozenWeights(layout, format, floats);
  return new OnnxModel({
    config,
    weights: initialWeights(config, adapter.layout, { seed: 3, standardDeviation: 0.3 }),
    base: { adapter, layout, weights },
    optimizer: plainOptimizer,
    threads: 1,
    ...options,
  });
}

function lively(config: ModelConfig, seed: number): Float32Array {
  const layout = parameterLayout(config);
  const random = createRandom(seed);
  const weights = initialWeights(config, layout, { seed, standardDeviation: 0.4 });
  for (const { shape, offset, size } of layout.parameters) {
    if (shape.length === 1)
      for (let index = offset; index < offset + size; index++)
        weights[index] = (weights[index] ?? 0) + 0.4 * (random.next() - 0.5);
  }
  return weights;
}

/** Makes a sample whose masked tokens have a behaviour logprob and an advantage. */
export function sampleOf(
  ids: readonly number[],
  lossMask: readonly number[],
  rest: Partial<Sample> & { readonly seed?: number } = {},
): Sample {
  const random = createRandom(rest.seed ?? ids.length);
  const masked = (value: () => number) => Float32Array.from(lossMask, (mask) => (mask === 1 ? value() : 0));
  return {
    episodeId: 'episode',
    agentName: 'agent',
    targetTag: 'agent',
    ids: Int32Array.from(ids),
    lossMask: Uint8Array.from(lossMask),
    logprobs: masked(() => -2.4 + random.next()),
    policyVersions: Int32Array.from(lossMask, (mask) => (mask === 1 ? 0 : -1)),
    advantages: masked(() => random.next() * 2 - 1),
    ...rest,
  };
}
