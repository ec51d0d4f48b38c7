import type { StreamDecoder } from './contract.js';

/** Byte order marks are not removed, because a byte order mark is ordinary text. */
const decoderOptions = { ignoreBOM: true } as const;

/** Creates the decoder for vocabularies whose tokens are bytes. It emits a character with its last byte. */
export function createByteStreamDecoder(bytesOf: (id: number) => Uint8Array, texts: TokenTexts): StreamDecoder {
  const decoder = new TextDecoder('utf-8', decoderOptions);
  let isClean = true; // the previous token ended at the end of a character
  return {
    push: (id) => {
      const text = texts.of(id);
      if (isClean && text !== undefined) return text;
      isClean = text !== undefined;
      return decoder.decode(bytesOf(id), { stream: true });
    },
    flush: () => decoder.decode(),
  };
}

/**
 * Texts of tokens that consist of whole characters. Each token is decoded once. All decoders of a vocabulary share
 * these texts.
 */
export class TokenTexts {
  readonly #bytesOf: (id: number) => Uint8Array;
  /** Null if the token begins or ends within a character. */
  readonly #texts: (string | null | undefined)[];
  readonly #decoder = new TextDecoder('utf-8', { ...decoderOptions, fatal: true });

  constructor(bytesOf: (id: number) => Uint8Array, vocabSize: number) {
    this.#bytesOf = bytesOf;
    this.#texts = Array.from({ length: vocabSize });
  }

  /** Returns undefined if the token begins or ends within a character. */
  of(id: number): string | undefined {
    const known = this.#texts[id];
    if (known !== undefined) return known ?? undefined;
    const text = this.#decode(id);
    this.#texts[id] = text ?? null;
    return text;
  }

  #decode(id: number): string | undefined {
    try {
      return this.#decoder.decode(this.#bytesOf(id));
    } catch {
      return undefined;
    }
  }
}

/**
 * Returns the text of all ids at once, which equals all pieces of a stream decoder together. Invalid bytes become
 * U+FFFD.
 */
export function decodeBytes(ids: ArrayLike<number>, bytesOf: (id: number) => Uint8Array): string {
  const pieces = Array.from(ids, bytesOf);
  const bytes = new Uint8Array(pieces.reduce((length, piece) => length + piece.length, 0));
  let end = 0;
  for (const piece of pieces) {
    bytes.set(piece, end);
    end += piece.length;
  }
  return new TextDecoder('utf-8', decoderOptions).decode(bytes);
}

/**
 * Creates the decoder for any other vocabulary. It decodes a window of ids and emits the text that further tokens
 * cannot change. U+FFFD at the end may be half a character and is held back. A window never begins with ids that have
 * no text, because the following text would then be decoded as the beginning of the text.
 */
export function createWindowStreamDecoder(decode: (ids: readonly number[]) => string): StreamDecoder {
  let window: number[] = [];
  let numKnown = 0;
  const take = (isLast: boolean): string => {
    const known = numKnown === 0 ? '' : decode(window.slice(0, numKnown));
    const text = window.length === 0 ? '' : decode(window);
    if (!isLast && text.endsWith('\uFFFD')) return '';
    const latest = window.slice(numKnown);
    if (latest.length > 0 && decode(latest) !== '') window = latest;
    numKnown = window.length;
    return text.slice(known.length);
  };
  return {
    push(id) {
      window.push(id);
      return take(false);
    },
    flush: () => (window.length > numKnown ? take(true) : ''),
  };
}
