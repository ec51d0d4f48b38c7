import type { AgentJetConfig, Backbone, OptimizerOptions } from '@agentjet/core';
import { createOnnxBackbone, createTorchBackbone, type TorchBackboneOptions } from '@agentjet/trainer';
import type { JobListener } from '../events.js';
import { findModelDir } from './model-dir.js';
import { trackBackbone } from './open-backbones.js';

function openOnnx(config: AgentJetConfig, optimizer: OptimizerOptions | undefined): Promise<Backbone> {
  return createOnnxBackbone({
    modelDir: findModelDir(config.model.path),
    seed: config.trainerCommon.seed,
    threads: config.onnx.numThreads,
    contextLength: config.rollout.maxModelLen,
    ...(optimizer === undefined ? { train: false } : { optimizer }),
  });
}

/** Optimizer of a backbone that never makes a step. */
const idle: OptimizerOptions = {
  learningRate: 0,
  beta1: 0.9,
  beta2: 0.999,
  epsilon: 1e-8,
  weightDecay: 0,
  maxGradNorm: 0,
  schedule: 'constant',
  warmupSteps: 0,
  totalSteps: 1,
};

/** The worker's options, from the names of the YAML. */
export function toTorchOptions(config: AgentJetConfig, optimizer: OptimizerOptions | undefined): TorchBackboneOptions {
  const { torch, lora, rollout, trainerCommon } = config;
  return {
    modelDir: findModelDir(config.model.path),
    optimizer: optimizer ?? idle,
    seed: trainerCommon.seed,
    numGpus: trainerCommon.nGpusPerNode,
    dtype: torch.dtype,
    maxPackTokens: trainerCommon.maxPackTokens,
    attention: torch.attention,
    compile: torch.compile,
    activationCheckpointing: torch.activationCheckpointing,
    activationBudget: torch.activationBudget,
    cpuOffload: torch.cpuOffload,
    reshard: torch.reshard,
    listenHost: torch.listenHost,
    loss: { objective: trainerCommon.lossMode, tisCap: trainerCommon.tisCap },
    inference: {
      server: rollout.name,
      kvTokens: rollout.maxModelLen,
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
            ...(lora.targetModules === null ? {} : { targetModules: lora.targetModules }),
          },
        }),
    ...(torch.python === null ? {} : { python: torch.python }),
    ...(torch.token === null ? {} : { token: torch.token }),
  };
}

/** What a line of the worker's log says to whoever waits for it; undefined for what matters only after a failure. */
export function toWorkerNotice(line: string): string | undefined {
  const said = / ajet_torch (?:INFO|WARNING) (.+)$/.exec(line)?.[1];
  return said === undefined ? undefined : `torch worker: ${said}`;
}

function openTorch(
  config: AgentJetConfig,
  emit: JobListener,
  optimizer: OptimizerOptions | undefined,
): Promise<Backbone> {
  const onLogLine = (line: string): void => {
    const message = toWorkerNotice(line);
    if (message !== undefined) emit({ type: 'notice', message });
  };
  return createTorchBackbone({ ...toTorchOptions(config, optimizer), onLogLine });
}

/** The backbone that the configuration names, with the weights of `model.path`. Without an optimizer it only samples. */
export function openBackbone(
  config: AgentJetConfig,
  emit: JobListener,
  optimizer?: OptimizerOptions,
): Promise<Backbone> {
  return trackBackbone(config.backbone === 'torch' ? openTorch(config, emit, optimizer) : openOnnx(config, optimizer));
}
