import type { Tokenizer } from '@agentjet/tokenizer';

const known = new WeakMap<Tokenizer, Map<number, string>>();

/** Returns the text of each token by itself. A part of a character is shown as U+FFFD. */
export function toTokenTexts(tokenizer: Tokenizer, ids: Int32Array): readonly string[] {
  const texts = known.get(tokenizer) ?? new Map<number, string>();
  known.set(tokenizer, texts);
  return Array.from(ids, (id) => {
    const text = texts.get(id) ?? tokenizer.decode([id]);
    texts.set(id, text);
    return text;
  });
}
