import { cpus } from 'node:os';
import type { BackboneCapabilities } from '@agentjet/core';

/** Lists what each backbone can do, for its registration and for the open backbone. */

export const embeddedCapabilities: BackboneCapabilities = {
  takes: 'packs',
  repeatsSeed: true,
  reportsGradNorm: true,
  losses: ['sft', 'policy', 'kl', 'entropy', 'slope'],
  streams: true,
  trainsTruncation: true,
};

/** onnxruntime adds in another order on another processor, and with another number of threads. */
export function embeddedArithmetic(threads: number): string {
  return `${threads} threads, ${process.arch}, ${cpus()[0]?.model.trim() ?? 'an unknown processor'}`;
}

/** On a GPU, rounding depends on what else is sampled at the same time, so a seed is not repeated. */
export const torchCapabilities: BackboneCapabilities = {
  takes: 'packs',
  repeatsSeed: false,
  reportsGradNorm: true,
  losses: ['sft', 'policy', 'kl', 'entropy', 'slope'],
  streams: true,
  trainsTruncation: true,
};

/**
 * Servers sample in batches of any size, so a seed is not repeated in general. Each server shows at start whether it
 * reports a norm.
 */
export const tinkerCapabilities: BackboneCapabilities = {
  takes: 'rows',
  repeatsSeed: false,
  reportsGradNorm: false,
  losses: ['sft', 'policy', 'kl', 'slope'],
  streams: false,
  trainsTemperatures: false,
};

/** verl trains rows with the loss that it is sent, so all parts of a loss are exact. */
export const verlCapabilities: BackboneCapabilities = {
  takes: 'rows',
  repeatsSeed: false,
  reportsGradNorm: true,
  losses: ['sft', 'policy', 'kl', 'entropy', 'slope'],
  streams: true,
};
