import type { BackboneParts, OptimizerOptions } from '@agentjet/core';
import { idleOptimizer } from '../idle-optimizer.js';
import type { TorchInferenceOptions, TorchLossOptions } from '../torch/options.js';
import type { VerlSection } from './registration.js';

export type VerlBackboneOptions = {
  /** A Hugging Face folder: config.json, tokenizer.json, *.safetensors. All nodes must see it. */
  readonly modelDir: string;
  readonly optimizer: OptimizerOptions;
  readonly seed: number;
  /**
   * A running Ray cluster: `auto`, or host:port of its head. Without it Ray is started on this machine, and ends with
   * the backbone.
   */
  readonly rayAddress?: string;
  /** The number of nodes, each with `gpusPerNode` workers. Defaults to 1. */
  readonly numNodes?: number;
  /** The number of workers, one per GPU. A cluster without GPUs runs as many on CPUs. Defaults to 1. */
  readonly gpusPerNode?: number;
  /** The dtype of the compute; masters and moments are float32. `auto` is bfloat16 on a GPU, and float32 on a CPU. */
  readonly dtype?: 'auto' | 'bfloat16' | 'float32';
  /** The tokens of a micro-batch. A single row may be longer. */
  readonly maxPackTokens?: number;
  /** A name that transformers knows: `sdpa` (default), or `flash_attention_2` if it is installed. */
  readonly attnImplementation?: string;
  readonly activationCheckpointing?: boolean;
  /** Keeps weights and optimizer states in host memory (FSDP2). */
  readonly cpuOffload?: boolean;
  /**
   * With several nodes, `node` shards within each and keeps a replica on each; `all` (default) shards over all GPUs.
   */
  readonly shardOver?: 'node' | 'all';
  readonly loss?: TorchLossOptions;
  readonly inference?: Pick<TorchInferenceOptions, 'slots' | 'kvTokens' | 'cudaGraphs'>;
  /** The interpreter of the driver. Defaults to AJET_VERL_PYTHON, then trainer/verl/.venv. */
  readonly python?: string;
  readonly startTimeoutMs?: number;
  readonly heartbeatTimeoutMs?: number;
  readonly stallTimeoutMs?: number;
  readonly env?: Readonly<Record<string, string>>;
  /** Called with each line that the driver logs. */
  readonly onLogLine?: (line: string) => void;
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
  'loss',
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
  return {
    modelDir,
    optimizer,
    seed: trainerCommon.seed,
    numNodes: verl.numNodes,
    gpusPerNode: trainerCommon.nGpusPerNode,
    dtype: verl.dtype,
    maxPackTokens: trainerCommon.maxPackTokens,
    attnImplementation: verl.attnImplementation,
    activationCheckpointing: verl.activationCheckpointing,
    cpuOffload: verl.cpuOffload,
    shardOver: verl.shardOver,
    loss: { objective: trainerCommon.lossMode, tisCap: trainerCommon.tisCap },
    inference: {
      kvTokens: rollout.maxModelLen,
      cudaGraphs: verl.cudaGraphs,
      ...(rollout.maxNumSeqs === null ? {} : { slots: rollout.maxNumSeqs }),
    },
    ...(verl.rayAddress === null ? {} : { rayAddress: verl.rayAddress }),
    ...(verl.python === null ? {} : { python: verl.python }),
  };
}
