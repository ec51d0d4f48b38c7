import type { JsonObject, MemoryPart, NeedRequest, ResourceNeed } from '@agentjet/core';
import { sumParts } from '@agentjet/core';
import { readModelShape, type ModelShape } from '../needs/model-shape.js';
import { scoringSecondsOnCpu, stepSecondsOnCpu } from '../needs/step-seconds-on-cpu.js';
import { withTeacherSeconds } from '../needs/teacher-need.js';
import { hasReference, readWorkload, type Workload } from '../needs/workload.js';
import { readLora } from '../lora-options.js';
import { resolveEngineLimits } from './sampling/engine-limits.js';
import { microbatchLimits, valuesPerToken } from './training/microbatches/microbatch-limits.js';
import { gridOfTree } from './training/microbatches/plan-microbatches.js';
import { storedBytes, type WeightFormat } from './training/frozen/frozen-weights.js';
import { headChunks } from './training/model/head-chunks.js';
import { parseModelConfig, type ModelConfig } from './training/model/model-config.js';
import { adapterForm } from './training/adapter/adapter-form.js';
import { parameterLayout } from './training/model/parameter-layout.js';

/**
 * Estimates memory and time of the embedded backbone from the shape of the model. The factors are measured:
 * `npm run bench -- memory` compares these figures with the peaks of real processes, and keeps both in
 * test/bench/results/memory.json.
 */

const bytesPerFloat = 4;
const mebibyte = 2 ** 20;
/** The memory of Node, ONNX Runtime and an agent's framework. */
const processBytes = 260 * mebibyte;
/** A checkpoint has the weights and both moments in single precision. */
const checkpointCopies = 3;
/** The memory of the thread that a second model needs. With nano, 31 MiB were measured. */
const threadBytes = 40 * mebibyte;
/**
 * If two sessions train trees, the smaller takes memory only beyond this many times the weights, because the gradients
 * and their copies are not in memory at the same time as its values. `least` is for models with few weights (measured).
 */
const roomOfGradients = { copies: 4, least: 256 * mebibyte };
/**
 * The number of copies of a row of logits that are in memory at once: in training for the loss and its gradient, and in
 * scoring for the reference.
 */
const logitCopies = { training: 5.5, scoring: 2 };
/** The number of such copies of one chunk, over a head that takes no gradient. */
const chunkCopies = { training: 8, scoring: 2 };
/**
 * The number of floats per query, key and head in addition to the probabilities of each layer. It is larger if rows
 * also read a path and all weights are trained.
 */
const scoreCopies = { inRows: 3, withPaths: 5, adapter: 3, scoring: 2 };
/** The factor for values of layers under an adapter, from gaps between them in the memory of ONNX Runtime. */
const adapterGaps = 1.12;
/**
 * The temporary memory for opening a sampling session in single precision, as a share of the weights. It includes the
 * buffer into which the weights are read.
 */
const openingShare = 1.7;
/** The session's copy of weights in int8, with the sums and scales of its blocks, as a share of the weights. */
const int8Copies = 1.28;
/**
 * Arrays of the adapter's size: A and B, the joined matrices for sampling, the gradients of a step and a micro-batch, two
 * moments, and the gradients that ONNX Runtime returned. Node frees the latter late.
 */
const adapterCopies = 9.2;
/**
 * In a model that only samples, old prefixes and outputs that Node has not freed yet take at most this share of the
 * cache, and at most these bytes (measured when a growing cache was also copied: 20 to 50 MiB next to 450 MiB).
 */
const oldBuffers = { share: 0.6, most: 128 * mebibyte };
/**
 * Multiplications and additions a second of one core (measured: 50 to 66 in training, AVX-512), and the bytes a second
 * that two cores read from memory.
 */
const ratesOfCore = { samplingFlops: 50e9, trainingFlops: 50e9, bytesPerSecond: 30e9 };

/** Throws BackboneError `unsupported_model`, or `bad_options` for adapters that the model cannot have. */
export function estimateEmbedded(request: NeedRequest): ResourceNeed {
  const { section, model, trains, cores } = request;
  const config = parseModelConfig(model);
  const shape = readModelShape(model);
  const workload = readWorkload(request, shape.contextLength);
  const teacher = request.teacher && readTeacher(request.teacher, request);
  const lora = trains ? readLora(request.config) : undefined;
  const trained = lora === undefined ? shape.numParameters : adapterForm(parameterLayout(config), lora).layout.length;
  const isAdapter = lora !== undefined;
  const isFrozen = isAdapter || !trains;
  const format = isFrozen ? formatOf(section['frozenWeights']) : 'float32';
  const job: Job = {
    config,
    shape,
    workload,
    hasReference: hasReference(request.config),
    isCorrected: isCorrected(request.config),
    teacher,
    trained,
    isAdapter,
    format,
    isInFiles: !trains && format !== 'float32',
  };
  const { longestSample, usualSample, treeTokens, packTokens } = workload;
  const expected = largest([
    trainingParts(job, { size: longestSample, depth: longestSample }),
    trainingParts(job, { size: treeTokens, depth: usualSample }),
  ]);
  const fullPack = sumParts(trainingParts(job, { size: packTokens, depth: longestSample }));
  const given = Number(section['numThreads'] ?? 0);
  const threads = given > 0 ? given : Math.min(8, cores);
  const { isKept } = largestGrid(job, { size: treeTokens, depth: usualSample });
  const rates = { ...ratesOfCore, cores: threads, isAdapter, isRecomputed: !isKept };
  const seconds = trains ? stepSecondsOnCpu(shape, workload, rates) : { stepSeconds: null };
  return {
    numParameters: shape.numParameters,
    place: 'host',
    parts: trains ? expected : samplingParts(job, cacheBytes(job)),
    ...(trains && { checkpointBytes: checkpointCopies * bytesPerFloat * trained }),
    // A full pack of shorter samples may need a little more, because it is laid out in other rows.
    fullPackBytes: trains ? Math.max(sumParts(expected), fullPack) : null,
    ...(!trains && { fullCacheBytes: sumParts(samplingParts(job, fullCacheBytes(job))) }),
    ...withTeacherSeconds(seconds, teacher ? scoringSecondsOnCpu(teacher.shape, teacher.workload, rates) : 0),
  };
}

/** Reads the teacher's shape. Its workload is the student's, because it scores the student's samples. */
function readTeacher(model: JsonObject, request: NeedRequest): Teacher {
  const shape = readModelShape(model);
  const format = formatOf(request.section['frozenWeights']);
  const workload = readWorkload(request, shape.contextLength);
  return { config: parseModelConfig(model), shape, workload, format, isAdapter: format !== 'float32' };
}

function largest(alternatives: readonly (readonly MemoryPart[])[]): readonly MemoryPart[] {
  return alternatives.toSorted((left, right) => sumParts(right) - sumParts(left))[0] ?? [];
}

/** The largest tree of a step: its tokens, and those of its longest path. */
type LargestTree = { readonly size: number; readonly depth: number };

type Job = {
  readonly config: ModelConfig;
  readonly shape: ModelShape;
  readonly workload: Workload;
  readonly hasReference: boolean;
  /** Whether a forward pass before each step compares the logprobs of training with those of sampling. */
  readonly isCorrected: boolean;
  readonly teacher?: Teacher | undefined;
  /** The number of trained parameters. */
  readonly trained: number;
  readonly isAdapter: boolean;
  /** How the weights that no step changes are stored. */
  readonly format: WeightFormat;
  /** Whether the weights are in files. Then only the embedding is in memory. */
  readonly isInFiles: boolean;
};

type Model = Pick<Job, 'config' | 'workload' | 'isAdapter' | 'format'>;

type Teacher = Model & Pick<Job, 'shape'>;

function isCorrected({ trainerCommon: { tisCap, rolloutIsThreshold } }: NeedRequest['config']): boolean {
  return tisCap > 0 || rolloutIsThreshold > 0;
}

function formatOf(value: unknown): WeightFormat {
  return value === 'int8' || value === 'float16' ? value : 'float32';
}

/**
 * Counts the weights, and the session's own packed copy. In single precision, the session also has a tied embedding once
 * more as a table. It converts weights in float16 to floats, and it keeps those in int8.
 */
function openParts({
  shape: { numParameters, headParameters },
  config,
  format,
  isInFiles,
}: Job): readonly MemoryPart[] {
  const stored = storedBytes(parameterLayout(config), format);
  const table = config.vocabSize * config.hiddenSize;
  const copies = {
    float32: (numParameters + headParameters) * bytesPerFloat,
    float16: numParameters * bytesPerFloat,
    int8: int8Copies * stored,
  }[format];
  return [
    { name: 'process', bytes: processBytes, sharedBytes: processBytes - threadBytes },
    { name: 'weights', bytes: isInFiles ? storedBytes({ length: table, decayedLength: table }, format) : stored },
    { name: 'sampling copies', bytes: copies },
  ];
}

/**
 * Returns the temporary memory for opening a sampling session. Stored weights are mapped from files and packed one by
 * one; those in float16 are converted to floats first. The embedding is the largest of them.
 */
function openingBytes({ shape, config, format }: Job): number {
  if (format === 'float32') return openingShare * shape.numParameters * bytesPerFloat;
  const bytesPerWeight = { int8: 1, float16: 2 + bytesPerFloat }[format];
  return config.vocabSize * config.hiddenSize * bytesPerWeight;
}

/**
 * Returns the parts of a model that samples. The memory for opening is freed before the first call, so only the larger
 * of cache and opening counts.
 */
function samplingParts(job: Job, stored: number): readonly MemoryPart[] {
  const cache = stored + Math.min(oldBuffers.share * stored, oldBuffers.most);
  return [
    ...openParts(job),
    { name: 'keys and values', bytes: cache },
    { name: 'opening', bytes: Math.max(0, openingBytes(job) - cache) },
  ];
}

/**
 * Returns the parts of a model that trains. ONNX Runtime copies gradients when they are fetched, and the gradients of a
 * second micro-batch stay in memory until they are added.
 */
function trainingParts(job: Job, tree: LargestTree): readonly MemoryPart[] {
  if (job.isAdapter) return adapterParts(job, tree);
  const weights = job.trained * bytesPerFloat;
  const { kept, recomputed, scoring } = activationBytes(job, tree);
  const room = Math.max(roomOfGradients.copies * weights, roomOfGradients.least);
  const activations = Math.max(kept, recomputed) + Math.max(0, Math.min(kept, recomputed) - room);
  return [
    ...openParts(job),
    { name: 'gradients', bytes: 2 * weights },
    { name: 'moments', bytes: 2 * weights },
    { name: 'gradient copies', bytes: 2 * weights },
    ...(job.hasReference ? [{ name: 'reference', bytes: weights + scoring }] : []),
    ...(job.teacher ? [{ name: 'teacher', bytes: teacherBytes(job.teacher, tree) }] : []),
    { name: 'keys and values', bytes: cacheBytes(job) },
    { name: 'activations', bytes: activations },
  ];
}

/** Counts the bytes of a thread, of the weights, and of the values of a forward pass. */
function teacherBytes(teacher: Teacher, tree: LargestTree): number {
  const { scoring } = activationBytes(teacher, tree);
  return threadBytes + storedBytes(parameterLayout(teacher.config), teacher.format) + scoring;
}

/**
 * Returns the parts of a model whose adapter is trained. The weights of the model have no gradients and no moments.
 * They are also the KL reference.
 */
function adapterParts(job: Job, tree: LargestTree): readonly MemoryPart[] {
  const { kept, recomputed, scoring } = activationBytes(job, tree);
  const training = kept + recomputed;
  const [cache, opening] = [cacheBytes(job), openingBytes(job)];
  const teacher = job.teacher ? teacherBytes(job.teacher, tree) : 0;
  const scored = job.hasReference || job.isCorrected ? scoring : 0;
  const late = cache + training + teacher + scored;
  return [
    ...openParts(job),
    { name: 'adapter', bytes: adapterCopies * job.trained * bytesPerFloat },
    ...(scored > 0 ? [{ name: job.hasReference ? 'reference' : 'importance correction', bytes: scored }] : []),
    ...(teacher > 0 ? [{ name: 'teacher', bytes: teacher }] : []),
    { name: 'keys and values', bytes: cache },
    { name: 'activations', bytes: training },
    { name: 'opening', bytes: Math.max(0, opening - late) },
  ];
}

/** The largest micro-batch of a step. */
type Grid = ReturnType<typeof gridOfTree> & {
  readonly numTokens: number;
  /** The number of its tokens that are trained. */
  readonly numTrained: number;
  /** Whether its layers are kept for the backward pass. Those of a larger micro-batch are computed again. */
  readonly isKept: boolean;
};

function largestGrid({ config, workload, isAdapter }: Model, { size, depth }: LargestTree): Grid {
  const { promptTokens, tasks } = workload;
  const limits = microbatchLimits(config, { isAdapter });
  const grid = gridOfTree({ size, depth: Math.min(size, depth) }, limits);
  const perTree = grid.numRows * grid.rowLength;
  const room = limits.maxTokens(grid.numKeys) / perTree;
  // Under an adapter, activations are most of the memory, and smaller trees may fill the rest of a micro-batch.
  const numTrees = Math.max(1, Math.min(isAdapter ? room : Math.floor(room), tasks));
  const numTokens = numTrees * perTree;
  return {
    ...grid,
    numTokens,
    numTrained: numTrees * Math.max(1, size - promptTokens),
    isKept: numTokens <= limits.maxKeptTokens(grid.numKeys),
  };
}

/** Returns the grid of the largest tree up to this one whose layers are kept. */
function largestKeptGrid(model: Model, { size, depth }: LargestTree): Grid {
  let [low, high] = [1, size];
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (largestGrid(model, { size: middle, depth }).isKept) low = middle;
    else high = middle - 1;
  }
  return largestGrid(model, { size: low, depth });
}

/**
 * Counts memory as microbatchLimits does, but with logits only for the trained tokens. Scoring keeps no values for a
 * gradient. A step with a tree whose layers are computed again may also have smaller trees, whose layers are kept. Two
 * sessions train these trees, and each keeps the memory of its largest one. A larger tree never needs less than a
 * smaller one.
 */
function activationBytes(
  model: Model,
  tree: LargestTree,
): { readonly kept: number; readonly recomputed: number; readonly scoring: number } {
  const grid = largestGrid(model, tree);
  const { numTokens, numTrained, numKeys } = grid;
  const { numLayers, hiddenSize, numHeads } = model.config;
  const copies = model.isAdapter ? chunkCopies : logitCopies;
  const kept = grid.isKept ? grid : largestKeptGrid(model, tree);
  const ofKept =
    layerBytes(model, kept, numLayers) + headBytes(model, copies.training, Math.min(numTrained, kept.numTokens));
  // The logits are freed before the first layer is computed again.
  const largestPart = Math.max(layerBytes(model, grid, 1), headBytes(model, copies.training, numTrained));
  const ofRecomputed = grid.isKept ? 0 : bytesPerFloat * numTokens * numLayers * hiddenSize + largestPart;
  const forward =
    numTokens *
    (valuesPerToken(model.config, { numLayers: 1, isAdapter: false }) + scoreCopies.scoring * numHeads * numKeys);
  return {
    kept: ofKept,
    recomputed: ofRecomputed,
    scoring: bytesPerFloat * forward + headBytes(model, copies.scoring, numTrained),
  };
}

/** Returns the bytes of that many layers, with their probabilities and gradients. */
function layerBytes(model: Model, { numRows, numKeys, numTokens }: Grid, numLayers: number): number {
  const ofWhole = numRows === 1 ? scoreCopies.inRows : scoreCopies.withPaths;
  const { config, isAdapter } = model;
  const [scores, gaps] = isAdapter ? [scoreCopies.adapter, adapterGaps] : [ofWhole, 1];
  const values = valuesPerToken(config, { numLayers, isAdapter });
  const perToken = values + config.numHeads * (numLayers + scores) * numKeys;
  return Math.ceil(gaps * bytesPerFloat * numTokens * perToken);
}

/** Returns the bytes of that many copies of logits. A head that is stored in fewer bits is converted once for all of them. */
function headBytes({ config, format, isAdapter }: Model, numCopies: number, numTrained: number): number {
  const { vocabSize, hiddenSize } = config;
  const converted = format === 'float32' ? 0 : vocabSize * hiddenSize * bytesPerFloat;
  return converted + (bytesPerFloat * numCopies * numTrained * vocabSize) / (isAdapter ? headChunks(config) : 1);
}

function cacheBytes({ config, shape, workload }: Job): number {
  const { longestSample, promptTokens, episodesAtOnce, episodes, tasks } = workload;
  const perToken = 2 * config.numLayers * config.numKvHeads * config.headDim * bytesPerFloat;
  const { maxKvBytes, maxPrefixCacheBytes, maxBatchSize } = resolveEngineLimits({}, shape.numParameters);
  const atOnce = Math.min(maxBatchSize, episodesAtOnce);
  const rows = Math.max(longestSample * perToken, Math.min(maxKvBytes, atOnce * longestSample * perToken));
  const prefixes =
    (Math.ceil((atOnce / episodes) * tasks) * promptTokens + atOnce * (longestSample - promptTokens)) * perToken;
  return rows + Math.min(maxPrefixCacheBytes, prefixes);
}

/** The memory of caches that have grown to their limits. */
function fullCacheBytes({ shape }: Job): number {
  const { maxKvBytes, maxPrefixCacheBytes } = resolveEngineLimits({}, shape.numParameters);
  return maxKvBytes + maxPrefixCacheBytes;
}
