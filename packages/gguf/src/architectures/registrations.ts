import type { Architecture } from './architecture.js';

/** The architectures that are read and written here. */
export const architectures: readonly Architecture[] = [
  { name: 'llama', className: 'LlamaForCausalLM', alwaysHasBias: false, hasHeadNorms: false, pairsRows: true },
  { name: 'qwen2', className: 'Qwen2ForCausalLM', alwaysHasBias: true, hasHeadNorms: false, pairsRows: false },
  { name: 'qwen3', className: 'Qwen3ForCausalLM', alwaysHasBias: false, hasHeadNorms: true, pairsRows: false },
];
