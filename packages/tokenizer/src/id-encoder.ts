import type { AddedToken, HfLibrary } from './hf-library.js';
import { endsWithWord, isSpace, startsWithWord } from './rust-patterns.js';
import { createAddedPattern } from './word-encoder.js';

/**
 * Converts text to ids as the Rust library does. Added tokens are taken out first (after normalizing, if they are
 * matched in normalized text), and the text between them goes through the pre-tokenizer and the model.
 */
export type IdEncoder = {
  encode(text: string): readonly number[];
  /** Returns the text between added tokens that are matched before the normalizer runs, and the ids of these tokens. */
  split(text: string): readonly (string | number)[];
};

export function createIdEncoder(library: HfLibrary): IdEncoder {
  const { normalizer } = library;
  const added = [...library.get_added_tokens_decoder().values()];
  const isLate = ({ normalized }: AddedToken): boolean => normalized && normalizer !== null;
  const early = createSplitter(added.filter((token) => !isLate(token)));
  const late = createSplitter(
    added.filter(isLate).map((token) => ({ ...token, content: normalizer?.(token.content) ?? token.content })),
  );
  const encodePlain = (text: string, sectionIndex: number): readonly number[] => {
    const pieces = library.pre_tokenizer?.(text, { section_index: sectionIndex }) ?? [text];
    return library
      .model(pieces)
      .flatMap((token) => library.model.tokens_to_ids.get(token) ?? library.model.unk_token_id ?? []);
  };
  return {
    split: early,
    encode: (text) =>
      early(text).flatMap((section, at) => {
        if (typeof section === 'number') return [section];
        return late(normalizer?.(section) ?? section).flatMap((part) =>
          typeof part === 'number' ? [part] : encodePlain(part, at),
        );
      }),
  };
}

/**
 * Splits text at the added tokens. If there are no added tokens, the whole text is one section. Empty text has no
 * sections.
 */
function createSplitter(tokens: readonly AddedToken[]): (text: string) => readonly (string | number)[] {
  const byContent = new Map(tokens.map((token) => [token.content, token]));
  const single = createAddedPattern([...byContent.keys()]);
  const pattern = single === undefined ? undefined : new RegExp(single.source, 'gu');
  return (text) => {
    const sections: (string | number)[] = [];
    let from = 0;
    for (const { 0: content, index } of pattern === undefined ? [] : text.matchAll(pattern)) {
      const token = byContent.get(content);
      if (token === undefined || (token.single_word && isInsideWord(text, index, content.length))) continue;
      const { start, end } = withSpaces(text, token, { from, start: index });
      if (from < start) sections.push(text.slice(from, start));
      sections.push(token.id);
      from = end;
    }
    return from < text.length ? [...sections, text.slice(from)] : sections;
  };
}

function isInsideWord(text: string, start: number, length: number): boolean {
  // Two code units, because one character may take two.
  const before = text.slice(Math.max(0, start - 2), start);
  const after = text.slice(start + length, start + length + 2);
  return endsWithWord.test(before) || startsWithWord.test(after);
}

function withSpaces(
  text: string,
  { content, lstrip, rstrip }: AddedToken,
  { from, start }: { readonly from: number; readonly start: number },
): { readonly start: number; readonly end: number } {
  let [first, end] = [start, start + content.length];
  while (lstrip && first > from && isSpace.test(text.charAt(first - 1))) first--;
  while (rstrip && isSpace.test(text.charAt(end))) end++;
  return { start: first, end };
}
