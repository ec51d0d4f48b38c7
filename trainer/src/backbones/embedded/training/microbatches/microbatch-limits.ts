/** How large a micro-batch may be before its activations take too much memory. */

import type { ModelConfig } from '../model/model-config.js';
import type { MicrobatchLimits } from './plan-microbatches.js';

/** Floats that a training graph holds at its peak: about 1 GiB. */
const maxFloats = 2 ** 28;
/** Larger micro-batches are slower by some percent: what the elementwise passes read no longer lies in a cache. */
const maxTokens = 1024;
const fewTokens = 512;
const pathRowLengths = [32, 64, 96, 128, 192, 256];

/**
 * Counted from the graph: per token and layer about ten hidden states, three of the query projection and four of the
 * feed-forward width; per query, key and head the probabilities of each layer and three temporaries; four rows of
 * logits per token. Reading a path moves numKvHeads * headDim floats per token where a score has numHeads; the factor
 * is measured (trainer/LOG.md).
 */
export function microbatchLimits({
  numLayers,
  hiddenSize,
  numHeads,
  numKvHeads,
  headDim,
  intermediateSize,
  vocabSize,
}: ModelConfig): MicrobatchLimits {
  const perToken = numLayers * (10 * hiddenSize + 3 * numHeads * headDim + 4 * intermediateSize) + 4 * vocabSize;
  const perScore = numHeads * (numLayers + 3);
  return {
    maxTokens: (numKeys) => Math.min(maxTokens, Math.floor(maxFloats / (perToken + perScore * numKeys))),
    fewTokens,
    pathRowLengths,
    pathReadCost: (3 * numKvHeads * headDim) / numHeads,
  };
}
