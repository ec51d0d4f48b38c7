/** How large a micro-batch may be before its activations take too much memory. */

import type { ModelConfig } from '../model/model-config.js';
import type { MicrobatchLimits } from './plan-microbatches.js';

/** Floats that a training graph holds at its peak: about 1 GiB. */
const maxFloats = 2 ** 28;
/** Beyond this, larger micro-batches are no quicker: the caches are full, the products large. */
const maxTokens = 4096;
const fewTokens = 1024;
const pathRowLength = 128;
const pathOverhead = 1.25;

/**
 * Counted from the graph: per token and layer about ten hidden states, three of the query projection and four of the
 * feed-forward width; per query, key and head the probabilities of each layer and three temporaries; four rows of
 * logits per token.
 */
export function microbatchLimits({ numLayers, hiddenSize, numHeads, headDim, intermediateSize, vocabSize }: ModelConfig): MicrobatchLimits {
  const perToken = numLayers * (10 * hiddenSize + 3 * numHeads * headDim + 4 * intermediateSize) + 4 * vocabSize;
  const perScore = numHeads * (numLayers + 3);
  return {
    maxTokens: (numKeys) => Math.min(maxTokens, Math.floor(maxFloats / (perToken + perScore * numKeys))),
    fewTokens,
    pathRowLength,
    pathOverhead,
  };
}
