import { sumParts, type Gpus, type MemoryPart, type NeedRequest, type ResourceNeed } from '@agentjet/core';
import { torchCapabilities } from '../capabilities.js';
import { readModelShape, type ModelShape } from '../needs/model-shape.js';
import { samplerCacheBytes } from '../needs/sampler-cache.js';
import { stepSeconds } from '../needs/step-seconds.js';
import { teacherParts } from '../needs/teacher-need.js';
import { hasReference, readWorkload, type Workload } from '../needs/workload.js';
import { refuseClass } from './refused-classes.js';
import type { TorchSection } from './registration.js';
import { isFused, type CompilerSettings } from './is-fused.js';

/**
 * Estimates memory and time of the torch backbone, per GPU, from the shape of the model. The factors are fitted to the
 * peaks in trainer/torch/bench/results/step.json (H200, PyTorch 2.11), and a test compares them. All factors are in
 * this table.
 */
const measured = {
  /** Bytes per parameter on one GPU: bfloat16 weights and the bits of their float32 masters that bfloat16 loses. */
  weights: 4,
  /** Bytes a parameter with `master_weights: bfloat16`. */
  roundedWeights: 2,
  moments: 8,
  /**
   * Backward frees activations while it creates gradients, so gradients count only if they take more memory than the
   * activations.
   */
  gradients: 2,
  /** Between the packs of a step, each GPU keeps whole gradients in single precision. */
  keptGradients: 4,
  /** Several GPUs have sharded float32 masters. */
  shardedMasters: 4,
  /**
   * The gathered bfloat16 weights of all layers count, unless they are freed after each layer. By default a GPU keeps
   * them if they take at most a sixth of its memory.
   */
  gatheredWeights: 2,
  wholeShare: 6,
  /**
   * A layer keeps this many hidden states and inner states per token for backward, and its keys and values twice. The
   * counts are those of the compiled graph. While a layer is computed backward, its gradients take as much memory as
   * `layersInWork` layers keep.
   */
  hiddenStates: 6.4,
  innerStates: 3,
  layersInWork: 5,
  /** Layers without torch.compile keep what `fused_layers.py` saves, and a test of the worker counts it. */
  fusedHiddenStates: 3,
  fusedInnerStates: 2,
  /** `matmul: fp8` keeps the inputs of products in one byte. These two contain the gradients. */
  fp8HiddenStates: 9.5,
  fp8InnerStates: 2.4,
  bytesPerNumber: 2,
  /** The bytes of logits that are kept for backward. Other logits are computed a second time. */
  keptLogits: 12 * 2 ** 30,
  /**
   * The memory of CUDA and kernels, outside of PyTorch's: nvidia-smi showed 0.81 GiB more than PyTorch had reserved, with
   * 135M and 0.5B on an H200.
   */
  context: 0.82 * 2 ** 30,
  /** Backward holds the gradient of the head more than once. Bytes a weight of the head. */
  headGradient: 5,
  /** CUDA, kernels and buffers together, of runs that were not measured in parts: LoRA, sampling alone, and vLLM. */
  wholeContext: 2.1 * 2 ** 30,
  /** The share of a GPU that vLLM takes next to the trainer. */
  vllmShare: 0.45,
  /**
   * On a CPU without compilation, states are float32, activations have another size than on a GPU, and the memory of
   * the process counts too.
   */
  cpuStates: 16,
  cpuHiddenStates: 11,
  cpuInnerStates: 3,
  cpuActivations: 4,
  cpuLogits: 16,
  cpuProcess: 1e9,
  /** Measured with PyTorch eager on two cores, for 0.5B and 135M parameters. */
  cpuRates: { samplingFlops: 50e9, trainingFlops: 70e9, bytesPerSecond: 10e9 },
  /** The share of an H200's peak that a training step reaches. */
  shareOfPeak: 0.455,
} as const;

type TorchSettings = CompilerSettings & Pick<TorchSection, 'masterWeights' | 'reshard'>;

const defaults: TorchSettings = {
  masterWeights: 'float32',
  matmul: 'plain',
  attention: 'auto',
  activationCheckpointing: false,
  activationBudget: 1,
  cpuOffload: false,
  reshard: 'auto',
  compile: 'auto',
};

/**
 * Estimates the CPU if there are no GPUs. Throws BackboneError `unsupported_model` if config.json does not contain a
 * size, or describes a model that the worker refuses.
 */
export function estimateTorch(request: NeedRequest): ResourceNeed {
  refuseClass(request.model);
  const settings: TorchSettings = { ...defaults, ...request.section };
  const shape = readModelShape(request.model);
  const workload = readWorkload(request, shape.contextLength, torchCapabilities);
  const gpus = request.gpus && trainersGpus(request.config.rollout, request.gpus);
  const hasSeveralPacks = workload.stepTokens > workload.packTokens * (gpus?.count ?? 1);
  const sampler = vllmParts(shape, request.config.rollout, workload);
  const fused = gpus?.count === 1 && isFused(shape.numParameters, settings, request);
  const teacher = teacherParts(request, estimateTorch);
  const parts = (tokens: number): readonly MemoryPart[] => {
    if (gpus === null) return [...cpuParts(shape, request, tokens), ...teacher];
    const { answerShare } = workload;
    const work = { settings, request, gpus, tokens, answerShare, hasSeveralPacks, sampler, fused };
    const trainers = gpuParts(shape, work);
    return hasOwnGpus(request.config.rollout) && sumParts(sampler) > sumParts(trainers)
      ? sampler
      : [...trainers, ...teacher];
  };
  return {
    numParameters: shape.numParameters,
    place: gpus === null ? 'host' : 'gpu',
    parts: parts(workload.treeTokens),
    ...(request.trains && { checkpointBytes: checkpointBytes(shape, request, settings) }),
    fullPackBytes: request.trains ? sumParts(parts(workload.packTokens)) : null,
    ...(request.trains ? stepSeconds(shape, workload, { gpus, request, speed: measured }) : { stepSeconds: null }),
    compiles:
      request.trains &&
      (settings.compile === 'on' || (settings.compile === 'auto' && gpus !== null && (fused ? 'kernels' : true))),
  };
}

type OnGpu = {
  readonly settings: TorchSettings;
  readonly request: NeedRequest;
  readonly gpus: Gpus;
  /** Tokens of the largest pack. */
  readonly tokens: number;
  /** The share of them that the model answered. Only these have logits. */
  readonly answerShare: number;
  /** True if a GPU computes more than one pack in a step. */
  readonly hasSeveralPacks: boolean;
  /** The minimum memory of one GPU of vLLM. */
  readonly sampler: readonly MemoryPart[];
  /** True if the layers are computed without torch.compile. */
  readonly fused: boolean;
};

type Rollout = NeedRequest['config']['rollout'];

const hasOwnGpus = ({ name, colocated }: Rollout): boolean => name === 'vllm' && !colocated;

/** Returns the GPUs that vLLM leaves to the trainer. */
function trainersGpus(rollout: Rollout, gpus: Gpus): Gpus {
  if (!hasOwnGpus(rollout)) return gpus;
  return { ...gpus, count: Math.max(1, gpus.count - rollout.numReplicas * rollout.tensorModelParallelSize) };
}

/** Returns the memory of a vLLM replica on one GPU, which must hold all weights and one long sample. */
function vllmParts(shape: ModelShape, rollout: Rollout, { longestSample }: Workload): readonly MemoryPart[] {
  const share = measured.bytesPerNumber / rollout.tensorModelParallelSize;
  return [
    { name: 'weights of a vLLM replica', bytes: share * shape.numParameters },
    { name: 'keys and values', bytes: share * shape.numLayers * shape.keyValueWidth * longestSample },
    { name: 'CUDA and kernels of vLLM', bytes: measured.wholeContext },
  ];
}

function gpuParts(shape: ModelShape, work: OnGpu): readonly MemoryPart[] {
  const { config, trains } = work.request;
  const sampler = samplerPart(shape, work);
  const isLora = config.lora.rank > 0;
  const ofHead = measured.context + measured.headGradient * shape.headParameters;
  const context = { name: 'CUDA and kernels', bytes: trains && !isLora ? ofHead : measured.wholeContext };
  if (!trains) return [{ name: 'weights', bytes: 2 * shape.numParameters }, context, sampler];
  const states = isLora ? loraParts(shape, config.lora.rank) : fullParts(shape, work);
  const reference =
    hasReference(config) && !isLora
      ? [{ name: 'reference weights', bytes: (2 * shape.numParameters) / work.gpus.count }]
      : [];
  const gradients = isLora ? { kept: 0, late: 0 } : gradientBytes(shape, work);
  return [...states, ...reference, ...passParts(shape, work, gradients), context, sampler];
}

type Gradients = {
  /** The bytes that are in use at the same time as activations. */
  readonly kept: number;
  /** The bytes of gradients, which are created while activations are freed. */
  readonly late: number;
};

/**
 * Returns the larger memory of two moments. In the first, all activations exist. In the second, all gradients exist,
 * and one layer is computed a second time.
 */
function passParts(
  shape: ModelShape,
  { settings, tokens, answerShare, gpus, fused }: OnGpu,
  { kept, late }: Gradients,
): readonly MemoryPart[] {
  const { all, logits, layer } = activationBytes(shape, { tokens, answers: answerShare * tokens, fused }, settings);
  const parts = (gradients: number, activations: number): readonly MemoryPart[] => [
    { name: 'gradients', bytes: gradients },
    { name: 'activations', bytes: activations },
  ];
  if (!settings.activationCheckpointing) return parts(kept, all + logits);
  if (gpus.count === 1) return parts(Math.max(kept, late), all + logits + 2 * layer);
  const [first, second] = [all + Math.max(logits, layer), late + 2 * layer];
  return kept > 0 || first >= second ? parts(kept, first) : parts(late, 2 * layer);
}

/**
 * Returns the parts of a model whose weights are all trained. One GPU has everything. Several GPUs share masters and
 * moments, and gather the weights of one layer or of all layers.
 */
function fullParts(shape: ModelShape, { settings, gpus }: OnGpu): readonly MemoryPart[] {
  const { numParameters } = shape;
  const part = (name: string, perParameter: number): MemoryPart => ({ name, bytes: perParameter * numParameters });
  if (settings.cpuOffload) return [gatheredPart(shape, false)];
  const isRounded = settings.masterWeights === 'bfloat16';
  if (gpus.count === 1)
    return [part('weights', isRounded ? measured.roundedWeights : measured.weights), part('moments', measured.moments)];
  const keepsWhole = measured.gatheredWeights * numParameters <= gpus.bytes / measured.wholeShare;
  const masters = isRounded ? measured.roundedWeights : measured.shardedMasters;
  return [
    part('sharded weights and moments', (masters + measured.moments) / gpus.count),
    gatheredPart(shape, settings.reshard === 'never' || (settings.reshard === 'auto' && keepsWhole)),
  ];
}

function gradientBytes({ numParameters }: ModelShape, { settings, gpus, hasSeveralPacks }: OnGpu): Gradients {
  if (settings.cpuOffload) return { kept: 0, late: 0 };
  const own = (settings.masterWeights === 'bfloat16' ? measured.gradients : measured.keptGradients) / gpus.count;
  const whole = hasSeveralPacks ? measured.keptGradients + (gpus.count === 1 ? 0 : own) : 0;
  return { kept: whole * numParameters, late: (gpus.count === 1 ? measured.gradients : own) * numParameters };
}

/** Counts the weights of all layers, or of two layers, embedding and head. */
function gatheredPart(
  { numParameters, layerParameters, numLayers, embeddingParameters }: ModelShape,
  isWhole: boolean,
): MemoryPart {
  const gathered = isWhole ? numParameters : (2 * layerParameters) / numLayers + embeddingParameters;
  return { name: 'gathered weights', bytes: measured.gatheredWeights * gathered };
}

/**
 * The written model has bfloat16 weights, or float32 weights on a CPU. Each trained parameter also has its master and two
 * moments.
 */
function checkpointBytes(shape: ModelShape, { config, gpus }: NeedRequest, { masterWeights }: TorchSettings): number {
  const { numParameters } = shape;
  const { rank } = config.lora;
  const master = masterWeights === 'bfloat16' ? measured.roundedWeights : measured.shardedMasters;
  const trained = rank > 0 ? countAdapters(shape, rank) : numParameters;
  return (gpus === null ? 4 : measured.bytesPerNumber) * numParameters + (master + measured.moments) * trained;
}

const countAdapters = (
  { hiddenSize, queryWidth, keyValueWidth, innerSize, numLayers }: ModelShape,
  rank: number,
): number =>
  rank * numLayers * (2 * (hiddenSize + queryWidth) + 2 * hiddenSize + keyValueWidth + 3 * (hiddenSize + innerSize));

/** The frozen base is in bfloat16. The adapters of all projections have masters, moments and gradients. */
function loraParts(shape: ModelShape, rank: number): readonly MemoryPart[] {
  return [
    { name: 'frozen weights', bytes: 2 * shape.numParameters },
    { name: 'adapters', bytes: 16 * countAdapters(shape, rank) },
  ];
}

/**
 * `all` counts the activations that the layers keep. `layer` counts those of one layer while it is computed a second
 * time.
 */
function activationBytes(
  { hiddenSize, innerSize, numLayers, vocabSize, keyValueWidth }: ModelShape,
  { tokens, answers, fused }: { readonly tokens: number; readonly answers: number; readonly fused: boolean },
  { matmul, activationCheckpointing, activationBudget }: TorchSettings,
): { readonly all: number; readonly logits: number; readonly layer: number } {
  const perToken =
    matmul === 'fp8'
      ? measured.fp8HiddenStates * hiddenSize + measured.fp8InnerStates * innerSize
      : measured.hiddenStates * hiddenSize + measured.innerStates * innerSize + keyValueWidth;
  const layer = measured.bytesPerNumber * perToken;
  const keptByFused = measured.fusedHiddenStates * hiddenSize + measured.fusedInnerStates * innerSize + keyValueWidth;
  const inWork = matmul === 'fp8' || activationCheckpointing ? 0 : measured.layersInWork;
  const kept = activationCheckpointing
    ? measured.bytesPerNumber * hiddenSize
    : fused
      ? measured.bytesPerNumber * keptByFused
      : layer * Math.max(activationBudget, 0.1);
  const logits = Math.min(measured.keptLogits, measured.bytesPerNumber * vocabSize * answers);
  return { all: tokens * (numLayers * kept + inWork * layer), logits, layer: tokens * layer };
}

/**
 * vLLM takes its whole share even if it needs less. Our own sampler takes memory for the keys and values of its slots.
 */
function samplerPart(shape: ModelShape, { request, gpus, sampler }: OnGpu): MemoryPart {
  const { rollout } = request.config;
  const { name, gpuMemoryUtilization, colocated } = rollout;
  const share = (gpuMemoryUtilization ?? measured.vllmShare) * gpus.bytes;
  if (name === 'vllm') return { name: 'vLLM', bytes: colocated ? Math.max(share, sumParts(sampler)) : 0 };
  const width = measured.bytesPerNumber;
  return { name: 'sampling', bytes: samplerCacheBytes(shape, rollout, { width, gpuBytes: gpus.bytes }) };
}

function cpuParts(shape: ModelShape, { config, trains }: NeedRequest, tokens: number): readonly MemoryPart[] {
  const { numParameters, numLayers, hiddenSize, innerSize, vocabSize } = shape;
  const layer = measured.cpuHiddenStates * hiddenSize + measured.cpuInnerStates * innerSize;
  const kept = tokens * (numLayers * layer * 2 * measured.cpuActivations + measured.cpuLogits * vocabSize);
  return [
    { name: 'process', bytes: measured.cpuProcess },
    { name: 'weights, moments, gradients', bytes: (trains ? measured.cpuStates : 4) * numParameters },
    ...(trains ? [{ name: 'activations', bytes: kept }] : []),
    { name: 'sampling', bytes: samplerCacheBytes(shape, config.rollout, { width: 4, gpuBytes: null }) },
  ];
}
