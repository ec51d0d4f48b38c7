import type { MemoryPart, NeedRequest, ResourceNeed } from '@agentjet/core';
import { sumParts } from '@agentjet/core';
import { readModelShape, type ModelShape } from '../needs/model-shape.js';
import { hasReference, readWorkload, type Workload } from '../needs/workload.js';
import { resolveEngineLimits } from './sampling/engine-limits.js';
import { microbatchLimits } from './training/microbatches/microbatch-limits.js';
import { gridOfTree } from './training/microbatches/plan-microbatches.js';
import { parseModelConfig, type ModelConfig } from './training/model/model-config.js';

/**
 * Memory and time of the embedded backbone, from the shape of the model. The factors are measured: `npm run bench -- memory`
 * compares these figures with the peaks of real processes, and keeps both in test/bench/results/memory.json.
 */

const bytesPerFloat = 4;
const mebibyte = 2 ** 20;
/** Node, ONNX Runtime, an agent's framework. */
const processBytes = 300 * mebibyte;
/** Copies of a row of logits that the loss and its gradient hold. */
const logitCopies = 6;
/** What opening a sampling session needs for a moment, as a share of the weights. */
const openingShare = 0.3;
/** Multiplications and additions a second of one core (measured: 50 to 66 in training, AVX-512), and what two cores read of memory. */
const flopsOfCore = 50e9;
const bytesPerSecond = 30e9;

/** Throws BackboneError `unsupported_model`. */
export function estimateEmbedded(request: NeedRequest): ResourceNeed {
  const { config, section, model, trains, cores } = request;
  const modelConfig = parseModelConfig(model);
  const shape = readModelShape(model);
  const workload = readWorkload(request, shape.contextLength);
  const fixed = [...openParts(shape, trains), ...(trains ? trainingParts(shape, hasReference(config)) : [])];
  const keysAndValues = { name: 'keys and values', bytes: cacheBytes(modelConfig, shape, workload) };
  const parts = [{ name: 'process', bytes: processBytes }, ...fixed, keysAndValues];
  const activations = (size: number): MemoryPart => ({
    name: 'activations',
    bytes: activationBytes(modelConfig, { size, workload }),
  });
  const given = Number(section['numThreads'] ?? 0);
  const threads = given > 0 ? given : Math.min(8, cores);
  return {
    numParameters: shape.numParameters,
    place: 'host',
    parts: trains ? [...parts, activations(workload.longestSample)] : parts,
    fullPackBytes: trains ? sumParts([...parts, activations(workload.packTokens)]) : null,
    stepSeconds: trains ? stepSeconds(shape, workload, flopsOfCore * threads) : null,
  };
}

/** The weights in single precision; the session's own packed copy, and a tied embedding once more as a table; the reading buffer or what opening needs. */
function openParts({ numParameters, headParameters }: ModelShape, trains: boolean): readonly MemoryPart[] {
  const weights = numParameters * bytesPerFloat;
  return [
    { name: 'weights', bytes: weights },
    { name: 'sampling copies', bytes: weights + headParameters * bytesPerFloat },
    // A training step needs more than opening, and at another time.
    ...(trains ? [] : [{ name: 'opening', bytes: (1 + openingShare) * weights }]),
  ];
}

/** ONNX Runtime copies gradients when they are fetched; the second micro-batch's are held until they are added. */
function trainingParts({ numParameters }: ModelShape, hasFrozen: boolean): readonly MemoryPart[] {
  const weights = numParameters * bytesPerFloat;
  return [
    { name: 'gradients', bytes: 2 * weights },
    { name: 'moments', bytes: 2 * weights },
    { name: 'gradient copies', bytes: 2 * weights },
    ...(hasFrozen ? [{ name: 'reference weights', bytes: weights }] : []),
  ];
}

/** Counted as in microbatchLimits, with logits for the tokens that are trained. `size`: tokens of the largest tree. */
function activationBytes(
  config: ModelConfig,
  { size, workload }: { readonly size: number; readonly workload: Workload },
): number {
  const { numLayers, hiddenSize, numHeads, headDim, intermediateSize, vocabSize } = config;
  const limits = microbatchLimits(config);
  const { longestSample, promptTokens } = workload;
  const { numRows, rowLength, numKeys } = gridOfTree({ size, depth: Math.min(size, longestSample) }, limits);
  const perToken = numLayers * (10 * hiddenSize + 3 * numHeads * headDim + 4 * intermediateSize);
  const perScore = numHeads * (numLayers + 3);
  const rowsThatFit = Math.max(1, Math.floor(limits.maxTokens(numKeys) / rowLength));
  const tokens = Math.max(numRows, rowsThatFit) * rowLength;
  const trained = Math.max(0, tokens - promptTokens * Math.max(1, Math.floor(tokens / Math.max(size, 1))));
  return bytesPerFloat * (tokens * (perToken + perScore * numKeys) + trained * logitCopies * vocabSize);
}

function cacheBytes({ numKvHeads, headDim }: ModelConfig, shape: ModelShape, workload: Workload): number {
  const perToken = 2 * shape.numLayers * numKvHeads * headDim * bytesPerFloat;
  const { maxKvBytes, maxPrefixCacheBytes, maxBatchSize } = resolveEngineLimits({}, shape.numParameters);
  const all = Math.min(maxBatchSize, workload.episodesAtOnce) * workload.longestSample * perToken;
  return Math.max(workload.longestSample * perToken, Math.min(maxKvBytes, all)) + Math.min(maxPrefixCacheBytes, all);
}

/** Each task's prompt is read once; all answers are as long as one may be. */
function stepSeconds(shape: ModelShape, workload: Workload, flops: number): number {
  const { tasks, promptTokens, episodes, episodesAtOnce, answerTokens, longestSample } = workload;
  const { activeParameters, headParameters, numLayers, queryWidth, numParameters } = shape;
  const [prompts, answers] = [tasks * promptTokens, episodes * answerTokens];
  const passes = Math.ceil(episodes / episodesAtOnce) * answerTokens;
  const reading = (passes * numParameters * bytesPerFloat) / bytesPerSecond;
  const attention = numLayers * queryWidth * (longestSample / 2);
  const forward = 2 * (prompts + answers) * (activeParameters + 2 * attention) + 2 * answers * headParameters;
  return reading + forward / flops + (3 * forward) / flops;
}
