import type { BackboneParts, OptimizerOptions } from '@agentjet/core';
import { idleOptimizer } from '../idle-optimizer.js';
import type { TorchInferenceOptions, TorchLossOptions } from '../torch/options.js';
import type { VerlSection } from './registration.js';

export type VerlBackboneOptions = {
  /** Hugging Face folder: config.json, tokenizer.json, *.safetensors. All nodes must see it. */
  readonly modelDir: string;
  readonly optimizer: OptimizerOptions;
  readonly seed: number;
  /** A Ray cluster that runs: `auto`, or host:port of its head. Without it Ray is started on this machine, and ends with the backbone. */
  readonly rayAddress?: string;
  /** Each with `gpusPerNode` workers; default 1. */
  readonly numNodes?: number;
  /** Workers, one per GPU; on a cluster without GPUs as many on CPUs. Default 1. */
  readonly gpusPerNode?: number;
  /** Of the compute; masters and moments are float32. `auto`: bfloat16 on a GPU, float32 on a CPU. */
  readonly dtype?: 'auto' | 'bfloat16' | 'float32';
  /** Of a micro-batch; one row may be longer. */
  readonly maxPackTokens?: number;
  /** A name that transformers knows: `sdpa` (default), or `flash_attention_2` if it is installed. */
  readonly attnImplementation?: string;
  readonly activationCheckpointing?: boolean;
  /** Weights and optimizer states in host memory (FSDP2). */
  readonly cpuOffload?: boolean;
  /** Several nodes: `node` shards within each and keeps a replica on each, `all` (default) shards over all GPUs. */
  readonly shardOver?: 'node' | 'all';
  readonly loss?: TorchLossOptions;
  readonly inference?: Pick<TorchInferenceOptions, 'slots' | 'kvTokens' | 'cudaGraphs'>;
  /** Interpreter of the driver; default AJET_VERL_PYTHON, then trainer/verl/.venv. */
  readonly python?: string;
  readonly startTimeoutMs?: number;
  readonly heartbeatTimeoutMs?: number;
  readonly stallTimeoutMs?: number;
  readonly env?: Readonly<Record<string, string>>;
  /** Each line that the driver logs. */
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

/** The part that the driver itself reads. */
export function toDriverConfig(options: VerlBackboneOptions): Readonly<Record<string, unknown>> {
  return Object.fromEntries(driverKeys.filter((key) => options[key] !== undefined).map((key) => [key, options[key]]));
}

/** The backbone's options, from the names of the YAML. */
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
