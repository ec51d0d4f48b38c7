import type { BackboneCapabilities } from '@agentjet/core';

/** On a GPU, rounding differs with what else is sampled at the same time, so a seed is not repeated. */
export const torchCapabilities: BackboneCapabilities = {
  takes: 'packs',
  repeatsSeed: false,
  reportsGradNorm: true,
  losses: ['sft', 'policy', 'kl', 'entropy', 'slope'],
  streams: true,
  trainsTruncation: true,
};
