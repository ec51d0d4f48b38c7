import path from 'node:path';
import type { BackboneParts, OptimizerOptions } from '@agentjet/core';
import { keptSecret } from '@agentjet/run-folder';
import { idleOptimizer } from '../idle-optimizer.js';
import type { TorchSection } from './registration.js';

/** LoRA adapters instead of all weights (Hu et al. 2021): W + alpha / rank B A. Needs peft. */
export type LoraOptions = {
  readonly rank: number;
  readonly alpha?: number;
  readonly targetModules?: readonly string[];
};

/** What the worker's losses offer beyond core's LossOptions; formulas and sources are in trainer/torch/ajet_torch/losses.py. */
export type TorchLossOptions = {
  /** `ppo` (GRPO's and REINFORCE++'s token ratio; default), `gspo`, `cispo` or `reinforce`. */
  readonly objective?: 'ppo' | 'gspo' | 'cispo' | 'reinforce';
  /** Limit of the truncated importance weight between trainer and sampler; 0 (default) turns it off. */
  readonly tisCap?: number;
};

export type TorchInferenceOptions = {
  /** `builtin` needs nothing but the worker; `vllm` (0.26 or later) is faster and must be installed. */
  readonly server?: 'builtin' | 'vllm';
  /** Answers sampled at once per GPU; more wait. Default: as many as fit a twelfth of the GPU, at most 256; 64 on a CPU. vLLM has its own. */
  readonly slots?: number;
  /** Cache per slot, tokens of prompt plus answer. Default: the model's context, at most 4,096. */
  readonly kvTokens?: number;
  /** Share of a GPU that vLLM may take; default 0.45 next to the trainer, 0.9 on separate GPUs. */
  readonly gpuMemoryUtilization?: number;
  /** Servers of vLLM on each node; default 1. */
  readonly numReplicas?: number;
  /** GPUs that each runs on; default 1. */
  readonly tensorParallelSize?: number;
  /** Whether they are the trainer's first ones (default) or those after the trainer's. */
  readonly colocated?: boolean;
  readonly cudaGraphs?: boolean;
};

export type AttachOptions = {
  /** Nodes, each with `numGpus` processes. */
  readonly numNodes: number;
  /** To listen on; 0 takes any that is free. */
  readonly port: number;
  /** Folder of the run, which all nodes must see: a file that is written there is looked for on each. */
  readonly sharedDir: string;
  /** Shown by the worker, and in the line. Default: a fresh random one. */
  readonly token?: string;
  /** Told the line to run on every node, once. */
  readonly onCommand: (command: string) => void;
};

export type TorchBackboneOptions = {
  /** Hugging Face folder: config.json, tokenizer.json, *.safetensors. */
  readonly modelDir: string;
  readonly optimizer: OptimizerOptions;
  readonly seed: number;
  /** Processes, one per GPU; on a machine without GPUs as many CPU processes. Default 1. With `attach` those of each node. */
  readonly numGpus?: number;
  /** Given: nothing is started. Launchers on one or several nodes start the worker, and it connects. */
  readonly attach?: AttachOptions;
  readonly device?: 'auto' | 'cpu' | 'cuda';
  /** Of the compute. `auto`: bfloat16 (with float32 masters) on a GPU, float32 on a CPU. */
  readonly dtype?: 'auto' | 'bfloat16' | 'float32' | 'float64';
  /** `bfloat16`: no float32 masters, each update is rounded at random. Default float32. */
  readonly masterWeights?: 'float32' | 'bfloat16';
  /**
   * What the float32 masters of bfloat16 weights hold at the start beyond them. `zero` (default): nothing. `file`: what a float32 file
   * has. `dithered`: the same, or else a draw among the values that round to the weight.
   */
  readonly masterStart?: 'zero' | 'file' | 'dithered';
  /** Products of the layers' weights: `plain` (default) in `dtype`, `fp8` in 8-bit floats, on GPUs since Ada and Hopper. */
  readonly matmul?: 'plain' | 'fp8';
  /** Sizes of the compiled shapes; packs should not be larger. */
  readonly maxPackTokens?: number;
  readonly attention?: 'auto' | 'dense' | 'flex' | 'rows' | 'flash4';
  readonly compile?: 'auto' | 'on' | 'off';
  readonly activationCheckpointing?: boolean;
  /** Share of the activations that a compiled layer keeps for backward, 0 to 1; default 1. */
  readonly activationBudget?: number;
  /** Several GPUs: whether gathered weights are freed after each layer. */
  readonly reshard?: 'auto' | 'always' | 'never';
  /** Several nodes: `node` (default) shards within each and keeps a replica on each, `all` shards over all GPUs. */
  readonly shardOver?: 'node' | 'all';
  /** Weights and optimizer states in host memory (FSDP2). */
  readonly cpuOffload?: boolean;
  readonly lora?: LoraOptions;
  readonly loss?: TorchLossOptions;
  readonly inference?: TorchInferenceOptions;
  /** Interpreter; default AJET_TORCH_PYTHON, then trainer/torch/.venv. */
  readonly python?: string;
  /** Address to listen on for the worker. Anything but the loopback needs `token`. */
  readonly listenHost?: string;
  /** Secret the worker shows; default a fresh random one. */
  readonly token?: string;
  readonly startTimeoutMs?: number;
  readonly heartbeatTimeoutMs?: number;
  readonly stallTimeoutMs?: number;
  readonly env?: Readonly<Record<string, string>>;
  /** Each line that the worker logs. */
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
  'loss',
  'inference',
] as const;

/** The part that the worker itself reads. */
export function toWorkerConfig(options: TorchBackboneOptions): Readonly<Record<string, unknown>> {
  return Object.fromEntries(workerKeys.filter((key) => options[key] !== undefined).map((key) => [key, options[key]]));
}

/** The worker's options, from the names of the YAML. */
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
  const { lora, rollout, trainerCommon } = config;
  return {
    modelDir,
    optimizer,
    seed: trainerCommon.seed,
    numGpus: trainerCommon.nGpusPerNode,
    dtype: torch.dtype,
    maxPackTokens: trainerCommon.maxPackTokens,
    masterWeights: torch.masterWeights,
    masterStart: torch.masterStart,
    matmul: torch.matmul,
    attention: torch.attention,
    compile: torch.compile,
    activationCheckpointing: torch.activationCheckpointing,
    activationBudget: torch.activationBudget,
    cpuOffload: torch.cpuOffload,
    reshard: torch.reshard,
    shardOver: torch.shardOver,
    listenHost: torch.listenHost,
    loss: { objective: trainerCommon.lossMode, tisCap: trainerCommon.tisCap },
    inference: {
      server: rollout.name,
      kvTokens: rollout.maxModelLen,
      numReplicas: rollout.numReplicas,
      tensorParallelSize: rollout.tensorModelParallelSize,
      colocated: rollout.colocated,
      cudaGraphs: torch.cudaGraphs,
      ...(rollout.maxNumSeqs === null ? {} : { slots: rollout.maxNumSeqs }),
      ...(rollout.gpuMemoryUtilization === null ? {} : { gpuMemoryUtilization: rollout.gpuMemoryUtilization }),
    },
    ...(lora.rank === 0
      ? {}
      : {
          lora: {
            rank: lora.rank,
            alpha: lora.alpha,
            ...(lora.targetModules === null ? {} : { targetModules: [lora.targetModules].flat() }),
          },
        }),
    ...(torch.launch === 'attach' && {
      attach: {
        numNodes: torch.numNodes,
        port: torch.listenPort,
        sharedDir: config.experimentDir,
        ...(torch.token === null && runDir !== undefined && { token: keptToken(runDir) }),
        onCommand: (command) => notice?.(`Waiting for the torch worker. Run on every node: ${command}`),
      },
    }),
    ...(torch.python === null ? {} : { python: torch.python }),
    ...(torch.token === null ? {} : { token: torch.token }),
  };
}

/** One of the run, so that the line which was printed first starts a worker after a restart too. */
const keptToken = (runDir: string): string =>
  keptSecret(
    path.join(runDir, 'torch-worker.secret'),
    'then a new token is made, and the line that starts a worker is printed with it.',
  );
