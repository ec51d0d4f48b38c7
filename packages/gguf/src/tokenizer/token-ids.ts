import { numberAt, textsAt } from '../metadata.js';
import type { GgufFile } from '../read-gguf.js';

/**
 * Returns the id that the metadata gives for a purpose, such as `padding`. Undefined if it gives none, or if no token has
 * this id: some converters write the largest number for none.
 */
export function findTokenId(gguf: GgufFile, purpose: string): number | undefined {
  const id = numberAt(gguf, `tokenizer.ggml.${purpose}_token_id`);
  const tokens = textsAt(gguf, 'tokenizer.ggml.tokens') ?? [];
  return id === undefined || tokens[id] === undefined ? undefined : id;
}
