import path from 'node:path';
import type { BackboneParts, OptimizerOptions } from '@agentjet/core';
import { keptSecret } from '@agentjet/run-folder';
import { idleOptimizer } from '../idle-optimizer.js';
import { readLora, type LoraOptions } from '../lora-options.js';
import type { TorchSection } from './registration.js';

export type TorchInferenceOptions = {
  /** `builtin` needs nothing but the worker. `vllm` (0.26 or later) is faster and must be installed. */
  readonly server?: 'builtin' | 'vllm';
  /**
   * The maximum number of answers that are sampled at a time per GPU. Others wait. Defaults to as many as fit in a
   * twelfth of the GPU, at most 256, and to 64 on a CPU. vLLM has its own limit.
   */
  readonly slots?: number;
  /** The cache per slot, in tokens of prompt plus answer. Defaults to the model's context, at most 4,096. */
  readonly kvTokens?: number;
  /** The share of a GPU that vLLM may take. Defaults to 0.45 next to the trainer, and to 0.9 on separate GPUs. */
  readonly gpuMemoryUtilization?: number;
  /** The number of vLLM servers on each node. Defaults to 1. */
  readonly numReplicas?: number;
  /** The number of GPUs of each server. Defaults to 1. */
  readonly tensorParallelSize?: number;
  /** True (default) if the servers use the trainer's first GPUs, and false if they use those after the trainer's. */
  readonly colocated?: boolean;
  readonly cudaGraphs?: boolean;
};

export type AttachOptions = {
  /** The number of nodes, each with `numGpus` processes. */
  readonly numNodes: number;
  /** The port to listen on; 0 takes any free port. */
  readonly port: number;
  /**
   * The folder of the run, which every node must be able to read. A file is written there, and each node checks that it
   * can read it.
   */
  readonly sharedDir: string;
  /** The token in the printed line, which the worker sends. Defaults to a new random token. */
  readonly token?: string;
  /** Called once with the line to run on every node. */
  readonly onCommand: (command: string) => void;
};

export type TorchBackboneOptions = {
  /** A Hugging Face folder: config.json, tokenizer.json, *.safetensors. */
  readonly modelDir: string;
  readonly optimizer: OptimizerOptions;
  readonly seed: number;
  /**
   * The number of processes, one per GPU. A machine without GPUs starts as many CPU processes. Defaults to 1. With
   * `attach` it is the number of each node.
   */
  readonly numGpus?: number;
  /**
   * If set, the backbone starts no process. Launchers on one or several nodes start the worker, which then connects.
   */
  readonly attach?: AttachOptions;
  readonly device?: 'auto' | 'cpu' | 'cuda';
  /** The dtype of the compute. `auto` is bfloat16 (with float32 masters) on a GPU, and float32 on a CPU. */
  readonly dtype?: 'auto' | 'bfloat16' | 'float32' | 'float64';
  /** With `bfloat16` there are no float32 masters, and each update is rounded at random. Defaults to float32. */
  readonly masterWeights?: 'float32' | 'bfloat16';
  /**
   * The initial values of the float32 masters of bfloat16 weights. `zero` uses the weights themselves. `file` uses the
   * values of a float32 file. `dithered` does the same if there is such a file, and otherwise draws a random value among
   * those that round to the weight. `auto` (default) is `file` if masters are kept in float32.
   */
  readonly masterStart?: 'auto' | 'zero' | 'file' | 'dithered';
  /**
   * The products of the layers' weights. `plain` (default) computes in `dtype`, `fp8` in 8-bit floats, on GPUs since
   * Ada and Hopper.
   */
  readonly matmul?: 'plain' | 'fp8';
  /** The maximum size of a pack. The sizes that are compiled depend on it, and a larger pack is compiled separately. */
  readonly maxPackTokens?: number;
  readonly attention?: 'auto' | 'dense' | 'flex' | 'rows' | 'flash4';
  readonly compile?: 'auto' | 'on' | 'off';
  readonly activationCheckpointing?: boolean;
  /** The share of the activations that a compiled layer keeps for backward, 0 to 1. Defaults to 1. */
  readonly activationBudget?: number;
  /** With several GPUs, whether gathered weights are freed after each layer. */
  readonly reshard?: 'auto' | 'always' | 'never';
  /**
   * With several nodes, `node` (default) shards within each and keeps a replica on each; `all` shards over all GPUs.
   */
  readonly shardOver?: 'node' | 'all';
  /** Keeps weights and optimizer states in host memory (FSDP2). */
  readonly cpuOffload?: boolean;
  /** Needs peft. */
  readonly lora?: LoraOptions;
  readonly inference?: TorchInferenceOptions;
  /** The interpreter. Defaults to AJET_TORCH_PYTHON, then trainer/torch/.venv. */
  readonly python?: string;
  /** The address on which to wait for the worker. Any address except the loopback needs `token`. */
  readonly listenHost?: string;
  /** The secret that the worker sends. Defaults to a new random one. */
  readonly token?: string;
  readonly startTimeoutMs?: number;
  readonly heartbeatTimeoutMs?: number;
  readonly stallTimeoutMs?: number;
  readonly env?: Readonly<Record<string, string>>;
  /** Called with each line that the worker logs. */
  readonly onLogLine?: (line: string) => void;
};

const workerKeys = [
  'modelDir',
  'optimizer',
  'seed',
  'device',
  'dtype',
  'masterWeights',
  'masterStart',
  'matmul',
  'maxPackTokens',
  'attention',
  'compile',
  'activationCheckpointing',
  'activationBudget',
  'cpuOffload',
  'reshard',
  'shardOver',
  'lora',
  'inference',
] as const;

/** Returns the part that the worker itself reads. */
export function toWorkerConfig(options: TorchBackboneOptions): Readonly<Record<string, unknown>> {
  return Object.fromEntries(workerKeys.filter((key) => options[key] !== undefined).map((key) => [key, options[key]]));
}

/** Returns the worker's options from the names of the YAML. */
export function toTorchOptions(
  torch: TorchSection,
  {
    config,
    modelDir,
    optimizer = idleOptimizer,
    runDir,
    notice,
  }: Partial<Pick<BackboneParts, 'notice'>> & Omit<BackboneParts, 'notice'>,
): TorchBackboneOptions {
  const { rollout, trainerCommon } = config;
  const lora = readLora(config);
  const { python, token, launch, numNodes, listenPort, cudaGraphs, ...same } = torch;
  return {
    modelDir,
    optimizer,
    seed: trainerCommon.seed,
    numGpus: trainerCommon.nGpusPerNode,
    maxPackTokens: trainerCommon.maxPackTokens,
    ...same,
    inference: {
      server: rollout.name,
      kvTokens: rollout.maxModelLen,
      numReplicas: rollout.numReplicas,
      tensorParallelSize: rollout.tensorModelParallelSize,
      colocated: rollout.colocated,
      cudaGraphs,
      ...(rollout.maxNumSeqs === null ? {} : { slots: rollout.maxNumSeqs }),
      ...(rollout.gpuMemoryUtilization === null ? {} : { gpuMemoryUtilization: rollout.gpuMemoryUtilization }),
    },
    ...(lora !== undefined && { lora }),
    ...(launch === 'attach' && {
      attach: {
        numNodes,
        port: listenPort,
        sharedDir: config.experimentDir,
        ...(token === null && runDir !== undefined && { token: keptToken(runDir) }),
        onCommand: (command) => notice?.(`Waiting for the torch worker. Run on every node: ${command}`),
      },
    }),
    ...(python === null ? {} : { python }),
    ...(token === null ? {} : { token }),
  };
}

/** Returns the token that the run folder keeps, so the line that was printed first also works after a restart. */
const keptToken = (runDir: string): string =>
  keptSecret(
    path.join(runDir, 'torch-worker.secret'),
    'The next start then creates a new token and prints a line with it.',
  );
