import type { JsonObject, MemoryPart, NeedRequest, ResourceNeed } from '@agentjet/core';
import { sumParts } from '@agentjet/core';
import { readModelShape, type ModelShape } from '../needs/model-shape.js';
import { scoringSecondsOnCpu, stepSecondsOnCpu } from '../needs/step-seconds-on-cpu.js';
import { withTeacherSeconds } from '../needs/teacher-need.js';
import { hasReference, readWorkload, type Workload } from '../needs/workload.js';
import { readLora } from '../lora-options.js';
import { resolveEngineLimits } from './sampling/engine-limits.js';
import { microbatchLimits } from './training/microbatches/microbatch-limits.js';
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
const processBytes = 240 * mebibyte;
/** A checkpoint has the weights and both moments in single precision. */
const checkpointCopies = 3;
/** The memory of the thread that a second model needs. With nano, 31 MiB were measured. */
const threadBytes = 40 * mebibyte;
/**
 * The number of copies of a row of logits that are in memory at once: in training for the loss and its gradient, and in
 * scoring for the reference.
 */
const logitCopies = { training: 5.5, scoring: 2 };
/** The number of such copies of one chunk, over a head that takes no gradient. */
const chunkCopies = { training: 8, scoring: 3 };
/**
 * The number of floats per query, key and head in addition to the probabilities of each layer. It is larger if rows
 * also read a path.
 */
const scoreCopies = { inRows: 3, withPaths: 5 };
/**
 * The temporary memory for opening a sampling session, as a share of the weights. It includes the buffer into which the
 * weights are read.
 */
const openingShare = 1.7;
/** The session's copy of weights in int8, with the sums of its blocks, as a share of the weights. */
const int8Copies = 1.15;
/**
 * Arrays of the adapter's size: A and B, the gradients of a step and a micro-batch, two moments, and the gradients that
 * ONNX Runtime returned. Node frees the latter late. The number is measured with 135M parameters.
 */
const adapterCopies = 18;
/** The factor for a cache that grows: it is copied before the old one is freed. */
const cacheGrowth = 1.6;
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
    teacher,
    trained,
    isAdapter,
    format,
  };
  const { longestSample, usualSample, treeTokens, packTokens } = workload;
  const expected = largest([
    trainingParts(job, { size: longestSample, depth: longestSample }),
    trainingParts(job, { size: treeTokens, depth: usualSample }),
  ]);
  const given = Number(section['numThreads'] ?? 0);
  const threads = given > 0 ? given : Math.min(8, cores);
  const rates = { ...ratesOfCore, cores: threads, isAdapter };
  const seconds = trains ? stepSecondsOnCpu(shape, workload, rates) : { stepSeconds: null };
  return {
    numParameters: shape.numParameters,
    place: 'host',
    parts: trains ? expected : samplingParts(job),
    ...(trains && { checkpointBytes: checkpointCopies * bytesPerFloat * trained }),
    fullPackBytes: trains ? sumParts(trainingParts(job, { size: packTokens, depth: longestSample })) : null,
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
  readonly teacher?: Teacher | undefined;
  /** The number of trained parameters. */
  readonly trained: number;
  readonly isAdapter: boolean;
  /** How the weights that no step changes are stored. */
  readonly format: WeightFormat;
};

type Teacher = Pick<Job, 'config' | 'shape' | 'workload' | 'isAdapter' | 'format'>;

function formatOf(value: unknown): WeightFormat {
  return value === 'int8' || value === 'float16' ? value : 'float32';
}

/**
 * Counts the weights, and the session's own packed copy. In single precision, the session also has a tied embedding once
 * more as a table. It converts weights in float16 to floats, and it keeps those in int8.
 */
function openParts({ shape: { numParameters, headParameters }, config, format }: Job): readonly MemoryPart[] {
  const stored = storedBytes(parameterLayout(config), format);
  const copies = {
    float32: (numParameters + headParameters) * bytesPerFloat,
    float16: numParameters * bytesPerFloat,
    int8: int8Copies * stored,
  }[format];
  return [
    { name: 'process', bytes: processBytes, sharedBytes: processBytes - threadBytes },
    { name: 'weights', bytes: stored },
    { name: 'sampling copies', bytes: copies },
  ];
}

/** Returns the temporary memory for opening a sampling session. Stored weights are read in pieces. */
function openingBytes({ shape, config, format }: Job): number {
  if (format === 'float32') return openingShare * shape.numParameters * bytesPerFloat;
  return storedBytes(parameterLayout(config), format);
}

/**
 * Returns the parts of a model that samples. The memory for opening is freed before the first call, so only the larger
 * of cache and opening counts.
 */
function samplingParts(job: Job): readonly MemoryPart[] {
  const cache = cacheBytes(job);
  const opening = openingBytes(job);
  return [
    ...openParts(job),
    { name: 'keys and values', bytes: cache },
    { name: 'opening', bytes: Math.max(0, opening - cache) },
  ];
}

/**
 * Returns the parts of a model that trains. ONNX Runtime copies gradients when they are fetched, and the gradients of a
 * second micro-batch stay in memory until they are added.
 */
function trainingParts(job: Job, tree: LargestTree): readonly MemoryPart[] {
  if (job.isAdapter) return adapterParts(job, tree);
  const weights = job.trained * bytesPerFloat;
  const { training, scoring } = activationBytes(job, tree);
  return [
    ...openParts(job),
    { name: 'gradients', bytes: 2 * weights },
    { name: 'moments', bytes: 2 * weights },
    { name: 'gradient copies', bytes: 2 * weights },
    ...(job.hasReference ? [{ name: 'reference', bytes: weights + scoring }] : []),
    ...(job.teacher ? [{ name: 'teacher', bytes: teacherBytes(job.teacher, tree) }] : []),
    { name: 'keys and values', bytes: cacheBytes(job) },
    { name: 'activations', bytes: training },
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
  const { training, scoring } = activationBytes(job, tree);
  const [cache, opening] = [cacheBytes(job), openingBytes(job)];
  const teacher = job.teacher ? teacherBytes(job.teacher, tree) : 0;
  const late = cache + training + teacher + (job.hasReference ? scoring : 0);
  return [
    ...openParts(job),
    { name: 'adapter', bytes: adapterCopies * job.trained * bytesPerFloat },
    ...(job.hasReference ? [{ name: 'reference', bytes: scoring }] : []),
    ...(teacher > 0 ? [{ name: 'teacher', bytes: teacher }] : []),
    { name: 'keys and values', bytes: cache },
    { name: 'activations', bytes: training },
    { name: 'opening', bytes: Math.max(0, opening - late) },
  ];
}

/**
 * Counts memory as microbatchLimits does, but with logits only for the trained tokens. Scoring keeps no values for a
 * gradient.
 */
function activationBytes(
  job: Pick<Job, 'config' | 'workload' | 'isAdapter' | 'format'>,
  { size, depth }: LargestTree,
): { readonly training: number; readonly scoring: number } {
  const { config, workload, isAdapter, format } = job;
  const { numLayers, hiddenSize, numHeads, headDim, intermediateSize, vocabSize } = config;
  const limits = microbatchLimits(config, { isAdapter });
  const { promptTokens, tasks } = workload;
  const { numRows, rowLength, numKeys } = gridOfTree({ size, depth: Math.min(size, depth) }, limits);
  const perTree = numRows * rowLength;
  const scores = numRows === 1 ? scoreCopies.inRows : scoreCopies.withPaths;
  const numTrees = Math.max(1, Math.min(Math.floor(limits.maxTokens(numKeys) / perTree), tasks));
  const perLayer = 10 * hiddenSize + 3 * numHeads * headDim + 4 * intermediateSize;
  const copies = isAdapter ? chunkCopies : logitCopies;
  const logits = (Math.max(1, size - promptTokens) * vocabSize) / (isAdapter ? headChunks(config) : 1);
  // A head that is stored in fewer bits is converted for its products.
  const head = format === 'float32' ? 0 : vocabSize * hiddenSize * bytesPerFloat;
  const bytesOf = (perToken: number, numCopies: number): number =>
    head + bytesPerFloat * numTrees * (perTree * perToken + numCopies * logits);
  return {
    training: bytesOf(numLayers * perLayer + numHeads * (numLayers + scores) * numKeys, copies.training),
    scoring: bytesOf(perLayer + 3 * numHeads * numKeys, copies.scoring),
  };
}

function cacheBytes({ config, shape, workload }: Job): number {
  const { longestSample, promptTokens, episodesAtOnce, episodes, tasks } = workload;
  const perToken = 2 * config.numLayers * config.numKvHeads * config.headDim * bytesPerFloat;
  const { maxKvBytes, maxPrefixCacheBytes, maxBatchSize } = resolveEngineLimits({}, shape.numParameters);
  const atOnce = Math.min(maxBatchSize, episodesAtOnce);
  const rows = Math.max(longestSample * perToken, Math.min(maxKvBytes, atOnce * longestSample * perToken));
  const prefixes =
    (Math.ceil((atOnce / episodes) * tasks) * promptTokens + atOnce * (longestSample - promptTokens)) * perToken;
  return cacheGrowth * rows + Math.min(maxPrefixCacheBytes, prefixes);
}
