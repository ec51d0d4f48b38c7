import type { BackboneParts } from '@agentjet/core';
import { idleOptimizer } from '../idle-optimizer.js';
import type { TorchBackboneOptions, TorchInferenceOptions } from '../torch/options.js';
import type { VerlSection } from './registration.js';

/**
 * All nodes must be able to read `modelDir`. `maxPackTokens` limits a micro-batch, but a single row may be longer.
 * `shardOver` defaults to `all`.
 */
export type VerlBackboneOptions = Pick<
  TorchBackboneOptions,
  | 'modelDir'
  | 'optimizer'
  | 'seed'
  | 'maxPackTokens'
  | 'activationCheckpointing'
  | 'cpuOffload'
  | 'shardOver'
  | 'startTimeoutMs'
  | 'heartbeatTimeoutMs'
  | 'stallTimeoutMs'
  | 'env'
  | 'onLogLine'
> & {
  /**
   * The address of a running Ray cluster: `auto`, or host:port of its head. By default, the backbone starts Ray on this
   * machine and ends it.
   */
  readonly rayAddress?: string;
  /** The number of nodes, each with `gpusPerNode` workers. Defaults to 1. */
  readonly numNodes?: number;
  /** The number of workers, one per GPU. A cluster without GPUs runs as many on CPUs. Defaults to 1. */
  readonly gpusPerNode?: number;
  /** The dtype of the compute; masters and moments are float32. `auto` is bfloat16 on a GPU, and float32 on a CPU. */
  readonly dtype?: 'auto' | 'bfloat16' | 'float32';
  /**
   * The name of an attention implementation of transformers: `sdpa` (default), or `flash_attention_2` if it is
   * installed.
   */
  readonly attnImplementation?: string;
  readonly inference?: Pick<TorchInferenceOptions, 'slots' | 'kvTokens' | 'cudaGraphs'>;
  /** The interpreter of the driver. Defaults to AJET_VERL_PYTHON, then trainer/verl/.venv. */
  readonly python?: string;
};

const driverKeys = [
  'modelDir',
  'optimizer',
  'seed',
  'rayAddress',
  'numNodes',
  'gpusPerNode',
  'dtype',
  'maxPackTokens',
  'attnImplementation',
  'activationCheckpointing',
  'cpuOffload',
  'shardOver',
  'inference',
] as const;

/** Returns the part that the driver itself reads. */
export function toDriverConfig(options: VerlBackboneOptions): Readonly<Record<string, unknown>> {
  return Object.fromEntries(driverKeys.filter((key) => options[key] !== undefined).map((key) => [key, options[key]]));
}

/** Returns the backbone's options from the names of the YAML. */
export function toVerlOptions(
  verl: VerlSection,
  { config, modelDir, optimizer = idleOptimizer }: Omit<BackboneParts, 'notice'>,
): VerlBackboneOptions {
  const { rollout, trainerCommon } = config;
  const { rayAddress, python, cudaGraphs, ...same } = verl;
  return {
    modelDir,
    optimizer,
    seed: trainerCommon.seed,
    gpusPerNode: trainerCommon.nGpusPerNode,
    maxPackTokens: trainerCommon.maxPackTokens,
    ...same,
    inference: {
      kvTokens: rollout.maxModelLen,
      cudaGraphs,
      ...(rollout.maxNumSeqs === null ? {} : { slots: rollout.maxNumSeqs }),
    },
    ...(rayAddress === null ? {} : { rayAddress }),
    ...(python === null ? {} : { python }),
  };
}
