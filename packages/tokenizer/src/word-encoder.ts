/**
 * Computes the library's ids in a fast way that fits most tokenizers: one pattern splits text into words, and the ids
 * of each word are cached. This is possible if the ids of a word depend only on the word. Prompts repeat their words,
 * so it is several times faster than encoding whole texts. A property test checks that the ids are the same.
 */
import type { JsonObject } from '@agentjet/core';
import { byteCharacters } from './byte-level.js';
import type { HfLibrary } from './hf-library.js';
import { RecentTexts } from './recent-texts.js';
import { normalizeAsRust } from './rust-normal-forms.js';

const maxWords = 50_000;
const maxWordLength = 64;
/** Encoding a shorter text costs less than keeping its ids. */
const leastLength = 4096;
const textEncoder = new TextEncoder();

function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null;
}

function has(value: unknown, expected: JsonObject): value is JsonObject {
  return isObject(value) && Object.entries(expected).every(([key, wanted]) => (value[key] ?? false) === wanted);
}

/**
 * Returns the pattern that splits text into words, as the library translated it to JavaScript. Returns undefined if the
 * tokenizer does not split text by one pattern.
 */
function findPattern(library: HfLibrary, preTokenizer: unknown): RegExp | undefined {
  const byteLevel = { type: 'ByteLevel', add_prefix_space: false };
  if (has(preTokenizer, byteLevel) && preTokenizer['use_regex'] !== false)
    return library.pre_tokenizer?.pattern ?? undefined;
  const steps: unknown =
    isObject(preTokenizer) && preTokenizer['type'] === 'Sequence' ? preTokenizer['pretokenizers'] : undefined;
  if (!Array.isArray(steps) || steps.length !== 2) return undefined;
  const [split, bytes] = steps as readonly unknown[];
  const isSplit =
    has(split, { type: 'Split', behavior: 'Isolated', invert: false }) &&
    has(bytes, { ...byteLevel, use_regex: false });
  return isSplit ? (library.pre_tokenizer?.tokenizers?.[0]?.pattern ?? undefined) : undefined;
}

function isPlain(added: unknown, hasNormalizer: boolean): boolean {
  return (
    has(added, { lstrip: false, rstrip: false, single_word: false }) &&
    (!hasNormalizer || has(added, { normalized: false }))
  );
}

export function createAddedPattern(texts: readonly string[]): RegExp | undefined {
  const escaped = texts
    .toSorted((a, b) => b.length - a.length)
    .map((text) => text.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&'));
  return escaped.length === 0 ? undefined : new RegExp(`(${escaped.join('|')})`, 'u');
}

/** Returns the words of the text and the pieces between them. */
function splitWords(text: string, pattern: RegExp): Iterable<string> {
  const words = text.match(pattern) ?? [];
  const numMatched = words.reduce((sum, { length }) => sum + length, 0);
  return numMatched === text.length ? words : splitWithGaps(text, pattern);
}

function* splitWithGaps(text: string, pattern: RegExp): Generator<string> {
  let end = 0;
  for (const { 0: word, index } of text.matchAll(pattern)) {
    if (end < index) yield text.slice(end, index);
    yield word;
    end = index + word.length;
  }
  if (end < text.length) yield text.slice(end);
}

function spell(word: string): string {
  return Array.from(textEncoder.encode(word), (byte) => byteCharacters[byte]).join('');
}

/**
 * Creates the encoder. Returns undefined if the tokenizer is not byte-level BPE over words. The caller then encodes
 * whole texts.
 */
export function createWordEncoder(
  library: HfLibrary,
  tokenizerJson: JsonObject,
): ((text: string, mark?: string) => Int32Array) | undefined {
  const { model } = library;
  const pattern = findPattern(library, tokenizerJson['pre_tokenizer']);
  const normalizer = tokenizerJson['normalizer'] ?? null;
  const added: unknown = tokenizerJson['added_tokens'] ?? [];
  const isNfc = has(normalizer, { type: 'NFC' });
  const isSimple =
    has(tokenizerJson['model'], { type: 'BPE' }) &&
    (normalizer === null || isNfc) &&
    Array.isArray(added) &&
    added.every((token) => isPlain(token, isNfc));
  if (pattern === undefined || !isSimple) return undefined;

  const addedIds = new Map([...library.get_added_tokens_decoder()].map(([id, { content }]) => [content, id]));
  const addedPattern = createAddedPattern([...addedIds.keys()]);
  const known = new Map<string, readonly number[]>();

  const encodeWord = (word: string): readonly number[] => {
    if (word === '') return [];
    const found = known.get(word);
    if (found !== undefined) return found;
    const ids = model.encode([spell(word)]).flatMap((token) => model.tokens_to_ids.get(token) ?? []);
    if (known.size >= maxWords) known.clear();
    if (word.length <= maxWordLength) known.set(word, ids);
    return ids;
  };
  const addIds = (ids: number[], text: string): number[] => {
    for (const word of splitWords(isNfc ? normalizeAsRust(text, 'NFC') : text, pattern))
      for (const id of encodeWord(word)) ids.push(id);
    return ids;
  };
  const longTexts = new RecentTexts<Int32Array>();
  const encodeLong = (text: string): Int32Array => Int32Array.from(addIds([], text));
  return (text, mark) => {
    const pieces: Int32Array[] = [];
    let ids: number[] = [];
    for (const section of addedPattern === undefined ? [text] : text.split(addedPattern)) {
      const addedId = addedIds.get(section);
      const plain = mark === undefined ? section : section.replaceAll(mark, '');
      if (addedId !== undefined) ids.push(addedId);
      else if (plain.length < leastLength) addIds(ids, plain);
      else {
        pieces.push(Int32Array.from(ids), longTexts.get(plain, encodeLong));
        ids = [];
      }
    }
    return joinIds([...pieces, Int32Array.from(ids)]);
  };
}

/** Concatenates pieces. A single piece is returned without a copy. */
export function joinIds(pieces: readonly Int32Array[]): Int32Array {
  const [only] = pieces;
  if (pieces.length === 1 && only !== undefined) return only;
  const whole = new Int32Array(pieces.reduce((length, piece) => length + piece.length, 0));
  let at = 0;
  for (const piece of pieces) {
    whole.set(piece, at);
    at += piece.length;
  }
  return whole;
}
