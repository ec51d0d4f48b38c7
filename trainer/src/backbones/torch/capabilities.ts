import type { BackboneCapabilities } from '@agentjet/core';

/** The exact sampler repeats a seed on one device; vLLM batches its calls, and draws with its own generators. */
export function torchCapabilities(server: 'builtin' | 'vllm' = 'builtin'): BackboneCapabilities {
  return {
    takes: 'packs',
    repeatsSeed: server === 'builtin',
    reportsGradNorm: true,
    losses: ['sft', 'policy', 'kl', 'entropy', 'slope'],
    streams: true,
  };
}
