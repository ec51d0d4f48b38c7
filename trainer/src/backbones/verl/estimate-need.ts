import { sumParts, type Gpus, type MemoryPart, type NeedRequest, type ResourceNeed } from '@agentjet/core';
import { verlCapabilities } from '../capabilities.js';
import { readModelShape, type ModelShape } from '../needs/model-shape.js';
import { samplerCacheBytes } from '../needs/sampler-cache.js';
import { stepSeconds } from '../needs/step-seconds.js';
import { teacherParts } from '../needs/teacher-need.js';
import { hasReference, readWorkload, type Workload } from '../needs/workload.js';
import { refuseClass } from '../torch/refused-classes.js';
import type { VerlSection } from './registration.js';

/**
 * Estimates the memory that the verl backbone needs on each worker's GPU, or on this machine if it has no GPU. verl
 * keeps states in float32, shards them with FSDP2 and runs the layers of transformers unchanged. Our sampler holds a
 * whole copy of the weights as well. All factors are in this table.
 */
const measured = {
  /** Bytes per parameter, over all workers: masters, two moments, gradients. */
  states: 16,
  masters: 4,
  /**
   * A layer keeps this many hidden states and inner states per token for backward, in the dtype of the compute. Norms
   * keep theirs in float32.
   */
  hiddenStates: 26,
  innerStates: 5,
  /**
   * The bytes that one logit takes: the computed value, its float32 copies for logprob and entropy, and its gradient.
   */
  logits: 16,
  /** The memory of CUDA, kernels and buffers of NCCL. */
  context: 2.5 * 2 ** 30,
  /** The memory of processes on a CPU: of the driver together with Ray's processes, and of each worker. */
  driver: 1.5e9,
  worker: 1.2e9,
  /** The speed of PyTorch without compilation, as for the torch backbone on a CPU. */
  cpuRates: { samplingFlops: 50e9, trainingFlops: 70e9, bytesPerSecond: 10e9 },
  /**
   * The share of an H200's peak. It is the torch backbone's share divided by 1.6, because verl took 1.6 times as long
   * to train the same run.
   */
  shareOfPeak: 0.285,
} as const;

type VerlSettings = Pick<VerlSection, 'dtype' | 'numNodes' | 'shardOver' | 'activationCheckpointing' | 'cpuOffload'>;

const defaults: VerlSettings = {
  dtype: 'auto',
  numNodes: 1,
  shardOver: 'all',
  activationCheckpointing: false,
  cpuOffload: false,
};

/**
 * Estimates all workers on the CPU of this machine if there are no GPUs. Throws BackboneError `unsupported_model` if
 * config.json does not contain a size, or describes a model that the sampler refuses.
 */
export function estimateVerl(request: NeedRequest): ResourceNeed {
  refuseClass(request.model); // verl uses the sampler of the torch worker
  const settings: VerlSettings = { ...defaults, ...request.section };
  const shape = readModelShape(request.model);
  const workload = readWorkload(request, shape.contextLength, verlCapabilities);
  const placement = placeWorkers(settings, request);
  const teacher = teacherParts(request, estimateVerl);
  const parts = (tokens: number): readonly MemoryPart[] => [
    ...workerParts(shape, { settings, request, placement, tokens }),
    ...teacher,
  ];
  return {
    numParameters: shape.numParameters,
    place: request.gpus === null ? 'host' : 'gpu',
    parts: parts(workload.treeTokens),
    fullPackBytes: request.trains ? sumParts(parts(workload.packTokens)) : null,
    ...(request.trains
      ? stepSeconds(shape, rowsOf(workload), { gpus: request.gpus, request, speed: measured })
      : { stepSeconds: null }),
  };
}

/** The backbone takes rows, so the prompt is computed for each episode. */
const rowsOf = (workload: Workload): Workload => ({ ...workload, tasks: workload.episodes });

type Placement = {
  readonly gpus: Gpus | null;
  /** The number of workers among which a set of states is divided. */
  readonly shards: number;
  /** The number of workers whose memory is counted: one on a GPU, all of this machine on its CPU. */
  readonly together: number;
  /** The bytes of a number in the dtype of the compute. */
  readonly width: number;
};

function placeWorkers({ dtype, numNodes, shardOver }: VerlSettings, { config, gpus }: NeedRequest): Placement {
  const perNode = config.trainerCommon.nGpusPerNode;
  const isWide = dtype === 'float32' || (dtype === 'auto' && gpus === null);
  return {
    gpus,
    shards: shardOver === 'node' ? perNode : perNode * numNodes,
    together: gpus === null ? perNode : 1,
    width: isWide ? 4 : 2,
  };
}

type Work = {
  readonly settings: VerlSettings;
  readonly request: NeedRequest;
  readonly placement: Placement;
  /** Tokens of the largest micro-batch. */
  readonly tokens: number;
};

function workerParts(shape: ModelShape, { settings, request, placement, tokens }: Work): readonly MemoryPart[] {
  const { gpus, shards, together, width } = placement;
  const { numParameters, numLayers, layerParameters, embeddingParameters } = shape;
  const isOffloaded = settings.cpuOffload && gpus !== null;
  const part = (name: string, bytes: number): MemoryPart => ({ name, bytes: together * bytes });
  const ofStates = (perParameter: number): number => (isOffloaded ? 0 : (perParameter * numParameters) / shards);
  const twoLayers = (2 * layerParameters) / numLayers + embeddingParameters;
  return [
    part('states of training', ofStates(request.trains ? measured.states : measured.masters)),
    part('gathered weights', width * twoLayers),
    part("the sampler's copy of the weights", width * numParameters),
    ...(hasReference(request.config) && request.trains
      ? [part('reference weights', (width * numParameters) / shards)]
      : []),
    ...(request.trains ? [part('activations', activationBytes(shape, settings, tokens * width, tokens))] : []),
    ...(gpus === null
      ? [{ name: 'processes', bytes: measured.driver + together * measured.worker }]
      : [{ name: 'CUDA and kernels', bytes: measured.context }]),
    part('sampling', samplerCacheBytes(shape, request.config.rollout, { width, gpuBytes: gpus?.bytes ?? null })),
  ];
}

/** `tokenBytes` is tokens x bytes of a number. */
function activationBytes(
  { hiddenSize, innerSize, numLayers, vocabSize }: ModelShape,
  { activationCheckpointing }: VerlSettings,
  tokenBytes: number,
  tokens: number,
): number {
  const layer = measured.hiddenStates * hiddenSize + measured.innerStates * innerSize;
  const kept = activationCheckpointing ? numLayers * hiddenSize + 2 * layer : numLayers * layer;
  return tokenBytes * kept + measured.logits * vocabSize * tokens;
}
