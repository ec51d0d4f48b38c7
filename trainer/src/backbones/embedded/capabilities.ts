import { cpus } from 'node:os';
import type { BackboneCapabilities } from '@agentjet/core';

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
