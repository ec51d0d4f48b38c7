import { cpus } from 'node:os';
import type { BackboneCapabilities } from '@agentjet/core';

/** Lists what each backbone can do, for its registration and for the open backbone. */

/** The settings of vLLM, which only `torch` starts. */
export const vllmKeys = [
  'rollout.gpu_memory_utilization',
  'rollout.num_replicas',
  'rollout.tensor_model_parallel_size',
  'rollout.colocated',
] as const;

/** The settings of GPUs, for backbones without any on this machine. */
export const gpuKeys = ['trainer_common.n_gpus_per_node', 'rollout.name', 'rollout.max_num_seqs', ...vllmKeys] as const;

export const embeddedCapabilities: BackboneCapabilities = {
  takes: 'packs',
  repeatsSeed: true,
  reportsGradNorm: true,
  losses: ['sft', 'policy', 'kl', 'entropy', 'slope'],
  streams: true,
  trainsTruncation: true,
};

/**
 * With weights in int8, `repeatsSeed` is false: ONNX Runtime chooses how to add 8-bit products by processor and by the
 * number of rows, which depends on the other calls of the moment.
 */
export function capabilitiesOf({ frozenWeights }: { readonly frozenWeights?: string }): BackboneCapabilities {
  return frozenWeights === 'int8' ? { ...embeddedCapabilities, repeatsSeed: false } : embeddedCapabilities;
}

/**
 * Names the number of threads and the processor. A run repeats exactly only if both are the same, because onnxruntime
 * adds numbers in an order that depends on them.
 */
export function embeddedArithmetic(threads: number): string {
  return `${threads} threads, ${process.arch}, ${cpus()[0]?.model.trim() ?? 'an unknown processor'}`;
}

/** `repeatsSeed` is false, because rounding on a GPU depends on which other calls are sampled at the same time. */
export const torchCapabilities: BackboneCapabilities = {
  takes: 'packs',
  repeatsSeed: false,
  reportsGradNorm: true,
  losses: ['sft', 'policy', 'kl', 'entropy', 'slope'],
  streams: true,
  trainsTruncation: true,
  objectives: ['ppo', 'gspo', 'cispo', 'reinforce'],
  samplesWide: true,
  truncatesImportance: true,
};

/**
 * `repeatsSeed` is false, because a server samples in batches of any size. The check at start finds out whether the
 * server reports a gradient norm.
 */
export const tinkerCapabilities: BackboneCapabilities = {
  takes: 'rows',
  repeatsSeed: false,
  reportsGradNorm: false,
  losses: ['sft', 'policy', 'kl', 'slope'],
  streams: false,
  trainsTemperatures: false,
  truncatesImportance: true,
};

/** verl computes the loss function that this package sends to it, so it supports every part of a loss. */
export const verlCapabilities: BackboneCapabilities = {
  takes: 'rows',
  repeatsSeed: false,
  reportsGradNorm: true,
  losses: ['sft', 'policy', 'kl', 'entropy', 'slope'],
  streams: true,
  objectives: ['ppo', 'gspo', 'cispo', 'reinforce'],
  samplesWide: true,
  truncatesImportance: true,
};
