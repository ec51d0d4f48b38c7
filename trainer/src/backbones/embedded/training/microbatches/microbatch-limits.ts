/** Limits the size of a micro-batch by the memory of its activations. */

import type { ModelConfig } from '../model/model-config.js';
import { headChunks } from '../model/head-chunks.js';
import type { MicrobatchLimits } from './plan-microbatches.js';

/** The maximum number of floats in a training graph at its peak: about 1 GiB. */
const maxFloats = 2 ** 28;
/**
 * The maximum number of tokens. Larger micro-batches are a few percent slower, because the data of elementwise
 * operators then exceeds the cache of the processor.
 */
const maxTokens = 1024;
/** A larger micro-batch computes each layer again in the backward pass: about 2 GiB, and 1.25 GiB under an adapter. */
const maxKeptFloats = { whole: 2 ** 29, adapter: 1.25 * 2 ** 28 };
const fewTokens = 512;
const pathRowLengths = [32, 64, 96, 128, 192, 256];

/**
 * The counts below follow from the graph. Per token it has the values of each layer, and three hidden states for an
 * adapter. Per query, key and head it has the probabilities of each layer and three temporaries. Each token has four
 * rows of logits, or two rows of one chunk over a frozen head. Reading a path moves numKvHeads * headDim floats per
 * token, and a score has numHeads; the factor is measured (trainer/LOG.md).
 */
export function microbatchLimits(
  config: ModelConfig,
  { isAdapter }: { readonly isAdapter: boolean },
): MicrobatchLimits {
  const { numLayers, hiddenSize, numHeads, numKvHeads, headDim, vocabSize } = config;
  const perHead = isAdapter ? 3 * hiddenSize + (2 * vocabSize) / headChunks(config) : 4 * vocabSize;
  const perToken = valuesPerToken(config, { numLayers, isAdapter }) + perHead;
  const perScore = numHeads * (numLayers + 3);
  const tokensIn = (floats: number, numKeys: number): number => Math.floor(floats / (perToken + perScore * numKeys));
  return {
    maxTokens: (numKeys) => Math.min(maxTokens, tokensIn(maxFloats, numKeys)),
    maxKeptTokens: (numKeys) => tokensIn(isAdapter ? maxKeptFloats.adapter : maxKeptFloats.whole, numKeys),
    fewTokens,
    pathRowLengths,
    pathReadCost: (3 * numKvHeads * headDim) / numHeads,
  };
}

/**
 * Returns the number of floats that a token has in that many layers. Under an adapter, the backward pass computes
 * normalized states and the products of gates again, for one layer at a time.
 */
export function valuesPerToken(
  { hiddenSize, numHeads, numKvHeads, headDim, intermediateSize }: ModelConfig,
  { numLayers, isAdapter }: { readonly numLayers: number; readonly isAdapter: boolean },
): number {
  const ofQueries = 3 * numHeads * headDim;
  const ofLayer = 10 * hiddenSize + ofQueries + 4 * intermediateSize;
  const kept = 2 * hiddenSize + ofQueries + 2 * numKvHeads * headDim + 2 * intermediateSize;
  return isAdapter ? numLayers * kept + ofLayer : numLayers * ofLayer;
}
