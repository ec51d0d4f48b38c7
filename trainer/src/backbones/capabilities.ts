import { cpus } from 'node:os';
import type { BackboneCapabilities } from '@agentjet/core';

/** What each backbone can do: for its registration, and for the backbone itself once it is open. */

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

/** On a GPU, rounding differs with what else is sampled at the same time, so a seed is not repeated. */
export const torchCapabilities: BackboneCapabilities = {
  takes: 'packs',
  repeatsSeed: false,
  reportsGradNorm: true,
  losses: ['sft', 'policy', 'kl', 'entropy', 'slope'],
  streams: true,
  trainsTruncation: true,
};

/** Servers sample in batches of any size, so a seed is not repeated in general; whether a norm is told, each server shows at start. */
export const tinkerCapabilities: BackboneCapabilities = {
  takes: 'rows',
  repeatsSeed: false,
  reportsGradNorm: false,
  losses: ['sft', 'policy', 'kl', 'slope'],
  streams: false,
  trainsTemperatures: false,
};

/** verl trains rows, by the loss that it is sent; so all parts of a loss are exact. */
export const verlCapabilities: BackboneCapabilities = {
  takes: 'rows',
  repeatsSeed: false,
  reportsGradNorm: true,
  losses: ['sft', 'policy', 'kl', 'entropy', 'slope'],
  streams: true,
};
