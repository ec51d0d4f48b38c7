import type { StreamDecoder, Tokenizer } from '@agentjet/tokenizer';

/** Ids 0 to 255 are bytes. Special tokens follow, then pairs of letters, so that a string has several spellings. */
const specials = ['<|im_start|>', '<|im_end|>', '<|endoftext|>'] as const;
const pairs = ['th', 'he', 'in', 'er', 'an', 're', 'es', 'on', 'ou', 'te', 'll', '\n\n', '  ', '":', ', '] as const;

const firstSpecial = 256;
const firstPair = firstSpecial + specials.length;

/** Creates a tokenizer of bytes and a few pairs of letters. It takes the longest match first. */
export function createToyTokenizer(): Tokenizer {
  const pairIds = new Uint16Array(65536);
  pairs.forEach((text, index) => (pairIds[(text.charCodeAt(0) << 8) | text.charCodeAt(1)] = firstPair + index));
  const bytesOf = createByteTable();
  const idOf = (token: string): number | undefined => {
    const [only, ...more] = encode(token, pairIds);
    return more.length === 0 ? only : undefined;
  };
  return {
    vocabSize: firstPair + pairs.length,
    encode: (text) => encode(text, pairIds),
    decode: (ids) => decode(ids, bytesOf),
    idOf,
    createStreamDecoder: () => createStreamDecoder(bytesOf),
  };
}

function createByteTable(): readonly Uint8Array[] {
  const bytes = Array.from({ length: 256 }, (_, byte) => Uint8Array.of(byte));
  return [...bytes, ...[...specials, ...pairs].map((text) => Buffer.from(text))];
}

function encode(text: string, pairIds: Uint16Array): Int32Array {
  const ids: number[] = [];
  for (const part of text.split(/(<\|im_start\|>|<\|im_end\|>|<\|endoftext\|>)/)) {
    const special = specials.findIndex((token) => token === part);
    if (special === -1) encodePlain(part, pairIds, ids);
    else ids.push(firstSpecial + special);
  }
  return Int32Array.from(ids);
}

function encodePlain(text: string, pairIds: Uint16Array, ids: number[]): void {
  const bytes = Buffer.from(text);
  for (let at = 0; at < bytes.length; at++) {
    const pair = pairIds[((bytes[at] ?? 0) << 8) | (bytes[at + 1] ?? 0)] ?? 0;
    ids.push(pair === 0 ? (bytes[at] ?? 0) : pair);
    if (pair !== 0) at++;
  }
}

const decoderOptions = { ignoreBOM: true } as const;

function decode(ids: ArrayLike<number>, bytesOf: readonly Uint8Array[]): string {
  return new TextDecoder('utf-8', decoderOptions).decode(
    Buffer.concat(Array.from(ids, (id) => bytesOf[id] ?? new Uint8Array(0))),
  );
}

function createStreamDecoder(bytesOf: readonly Uint8Array[]): StreamDecoder {
  const decoder = new TextDecoder('utf-8', decoderOptions);
  return { push: (id) => decoder.decode(bytesOf[id], { stream: true }), flush: () => decoder.decode() };
}
