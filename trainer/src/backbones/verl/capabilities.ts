import type { BackboneCapabilities } from '@agentjet/core';

/** verl trains rows, by the loss that it is sent; so all parts of a loss are exact. */
export const verlCapabilities: BackboneCapabilities = {
  takes: 'rows',
  repeatsSeed: false,
  reportsGradNorm: true,
  losses: ['sft', 'policy', 'kl', 'entropy', 'slope'],
  streams: true,
};
