import type { ModelConfig } from './model-config.js';

/**
 * Returns the number of chunks in which a frozen head computes the rows of a micro-batch. Rows of a small vocabulary
 * are narrow, so chunks would only cost time.
 */
export function headChunks({ vocabSize }: Pick<ModelConfig, 'vocabSize'>): number {
  return vocabSize < 8192 ? 1 : 8;
}
