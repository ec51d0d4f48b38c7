import { byteCharacters } from './byte-level.js';
import type { HfLibrary } from './hf-library.js';

/**
 * Creates a function that computes the minimum number of tokens of a string from its length and the longest token. A
 * caller can then refuse a string that fits into no context without encoding it, which would take seconds. Works for
 * byte-level BPE. Returns undefined for a vocabulary without some bytes, because strings lose those bytes.
 */
export function createTokenBound(library: HfLibrary): ((text: string) => number) | undefined {
  const vocab = library.get_vocab();
  if (!byteCharacters.every((character) => vocab.has(character))) return undefined;
  const added = library.get_added_tokens_decoder();
  let longest = 1;
  for (const [token = '', id] of vocab)
    longest = Math.max(longest, added.has(id) ? Buffer.byteLength(token) : token.length);
  // The string is normalized, because many of these tokenizers normalize first, which can shorten a string.
  return (text) => Math.ceil(Buffer.byteLength(text.normalize('NFC')) / longest);
}
