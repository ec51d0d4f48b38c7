import type { DecodedIds } from './contract.js';
import type { TokenTexts } from './stream-decoder.js';

/** The longest token text that the table can hold. */
const longest = 0xfffe;
const unknown = 0xffff;

/**
 * Decodes many ids at once and finds where the text of each id ends. It uses one table of bytes instead of a string for
 * each token. It supports tokens that consist of whole characters.
 */
export class QuickDecoder {
  readonly #texts: TokenTexts;
  readonly #bytes: Uint8Array;
  /** The end of the bytes of each id. They begin where the bytes of the previous id end. */
  readonly #ends: Uint32Array;
  /** Number of UTF-16 code units of each id. */
  readonly #lengths: Uint16Array;

  constructor(
    bytesOf: (id: number) => Uint8Array,
    { texts, vocabSize }: { readonly texts: TokenTexts; readonly vocabSize: number },
  ) {
    this.#texts = texts;
    this.#ends = new Uint32Array(vocabSize);
    let size = 0;
    for (let id = 0; id < vocabSize; id++) this.#ends[id] = size += bytesOf(id).length;
    this.#bytes = new Uint8Array(size);
    for (let id = 0, start = 0; id < vocabSize; start = this.#ends[id++] ?? 0) this.#bytes.set(bytesOf(id), start);
    this.#lengths = new Uint16Array(vocabSize).fill(unknown);
  }

  /** Returns undefined if a token is unknown, or begins or ends within a character. */
  decode(ids: Int32Array): DecodedIds | undefined {
    const ends = this.endsOf(ids);
    return ends === undefined ? undefined : { text: this.#read(ids), ends };
  }

  /** Returns the end of the text of each id. Returns undefined in the same cases as `decode`. */
  endsOf(ids: Int32Array): Int32Array | undefined {
    const lengths = this.#lengths;
    const ends = new Int32Array(ids.length);
    let length = 0;
    for (let at = 0; at < ids.length; at++) {
      const id = ids[at] ?? -1;
      let own = lengths[id] ?? unknown;
      if (own === unknown) own = this.#learn(id);
      if (own === unknown) return undefined;
      length += own;
      ends[at] = length;
    }
    return ends;
  }

  #read(ids: Int32Array): string {
    const [all, byteEnds] = [this.#bytes, this.#ends];
    let size = 0;
    for (const id of ids) size += (byteEnds[id] ?? 0) - (id === 0 ? 0 : (byteEnds[id - 1] ?? 0));
    const bytes = Buffer.allocUnsafe(size);
    let to = 0;
    for (let at = 0; at < ids.length; at++) {
      const id = ids[at] ?? -1;
      const end = byteEnds[id] ?? 0;
      for (let from = id === 0 ? 0 : (byteEnds[id - 1] ?? 0); from < end; from++) bytes[to++] = all[from] ?? 0;
    }
    return bytes.toString();
  }

  #learn(id: number): number {
    const length = id < 0 || id >= this.#lengths.length ? unknown : (this.#texts.of(id)?.length ?? unknown);
    if (length > longest) return unknown;
    this.#lengths[id] = length;
    return length;
  }
}
