import type { BackboneCapabilities } from '@agentjet/core';

/** Servers sample in batches of any size, so a seed is not repeated in general; whether a norm is told, each server shows at start. */
export const tinkerCapabilities: BackboneCapabilities = {
  takes: 'rows',
  repeatsSeed: false,
  reportsGradNorm: false,
  losses: ['sft', 'policy', 'kl', 'slope'],
  streams: false,
  trainsTemperatures: false,
};
