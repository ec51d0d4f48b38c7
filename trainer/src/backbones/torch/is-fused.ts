import type { NeedRequest } from '@agentjet/core';
import type { TorchSection } from './registration.js';

/** The settings that decide whether the layers are compiled. */
export type CompilerSettings = Pick<
  TorchSection,
  'compile' | 'attention' | 'matmul' | 'activationBudget' | 'activationCheckpointing' | 'cpuOffload'
>;

/** The worker compiles the layers of models with as many parameters, because they gain more than it costs. */
const mostParameters = 500e6;

const families: Readonly<Record<string, (model: NeedRequest['model']) => boolean>> = {
  llama: (model) => model['attention_bias'] !== true && model['mlp_bias'] !== true,
  qwen2: (model) => model['use_sliding_window'] !== true,
  mistral: (model) => model['sliding_window'] === null,
};

/**
 * Returns whether the worker trains the model on one GPU without torch.compile, as `fuses` of the worker's model.py
 * decides. Both are tested with the cases of `torch/tests/fused_cases.json`.
 */
export function isFused(
  numParameters: number,
  { compile, attention, matmul, activationBudget, activationCheckpointing, cpuOffload }: CompilerSettings,
  { config, model }: NeedRequest,
): boolean {
  const isPlain = matmul === 'plain' && config.lora.rank === 0 && activationBudget === 1;
  const isUsual = compile === 'auto' && attention === 'auto' && !activationCheckpointing && !cpuOffload;
  const head = Number(model['head_dim'] ?? Number(model['hidden_size']) / Number(model['num_attention_heads']));
  const isKnown = families[String(model['model_type'])]?.(model) === true && (model['hidden_act'] ?? 'silu') === 'silu';
  return isPlain && isUsual && numParameters < mostParameters && isKnown && Number.isInteger(Math.log2(head));
}
