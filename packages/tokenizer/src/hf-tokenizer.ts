import type { JsonObject } from '@agentjet/core';
import { toTokenBytes } from './byte-level.js';
import type { Tokenizer } from './contract.js';
import { type HfLibrary, openHfLibrary } from './hf-library.js';
import { createMarkedEncoder } from './marked-encoder.js';
import { createByteStreamDecoder, createWindowStreamDecoder, decodeBytes, TokenTexts } from './stream-decoder.js';
import { checkTokenIds } from './token-ids.js';
import { QuickDecoder } from './quick-decoder.js';
import { createIdEncoder } from './id-encoder.js';
import { RecentTexts } from './recent-texts.js';
import { createTokenBound } from './token-bound.js';
import { createWordEncoder } from './word-encoder.js';

function isByteLevel(decoder: unknown): boolean {
  if (typeof decoder !== 'object' || decoder === null) return false;
  const { type, decoders } = decoder as { type?: unknown; decoders?: unknown };
  return type === 'ByteLevel' || (type === 'Sequence' && Array.isArray(decoders) && decoders.every(isByteLevel));
}

function createByteTable(library: HfLibrary, vocabSize: number): (id: number) => Uint8Array {
  const added = library.get_added_tokens_decoder();
  const textEncoder = new TextEncoder();
  const table = Array.from({ length: vocabSize }, (_, id) => {
    const special = added.get(id);
    return special === undefined ? toTokenBytes(library.id_to_token(id) ?? '') : textEncoder.encode(special.content);
  });
  const none = new Uint8Array(0);
  return (id) => table[id] ?? none;
}

/**
 * Creates a tokenizer from the content of tokenizer.json and tokenizer_config.json. Throws the errors of the library.
 */
export function createHfTokenizer(tokenizerJson: JsonObject, tokenizerConfig: JsonObject): Tokenizer {
  checkTokenIds(tokenizerJson);
  const library = openHfLibrary(tokenizerJson, tokenizerConfig);
  let vocabSize = 0;
  for (const id of library.get_vocab().values()) vocabSize = Math.max(vocabSize, id + 1);
  const whole = createIdEncoder(library);
  const recent = new RecentTexts<Int32Array>();
  const encodeWhole = (text: string): Int32Array => recent.get(text, () => Int32Array.from(whole.encode(text))).slice();
  const encodeWords = createWordEncoder(library, tokenizerJson);
  const countAtLeast = encodeWords === undefined ? undefined : createTokenBound(library);
  const common = {
    vocabSize,
    encode: encodeWords === undefined ? encodeWhole : (text: string) => encodeWords(text),
    encodeMarked: encodeWords ?? createMarkedEncoder(whole, tokenizerJson, tokenizerConfig),
    specialTokens: [...library.get_added_tokens_decoder().values()].flatMap(({ special, content }) =>
      special ? [content] : [],
    ),
    ...(countAtLeast !== undefined && { countAtLeast }),
    idOf: (token: string) => library.token_to_id(token),
  };
  if (isByteLevel(tokenizerJson['decoder'])) {
    const bytesOf = createByteTable(library, vocabSize);
    const texts = new TokenTexts(bytesOf, vocabSize);
    let made: QuickDecoder | undefined;
    const quick = (): QuickDecoder => (made ??= new QuickDecoder(bytesOf, { texts, vocabSize }));
    return {
      ...common,
      decode: (ids) => decodeBytes(ids, bytesOf),
      createStreamDecoder: () => createByteStreamDecoder(bytesOf, texts),
      decodeEach: (ids) => quick().decode(ids),
      textEnds: (ids) => quick().endsOf(ids),
    };
  }
  const options = { skip_special_tokens: false, clean_up_tokenization_spaces: false };
  const decode = (ids: ArrayLike<number>): string => (ids.length === 0 ? '' : library.decode(Array.from(ids), options));
  return { ...common, decode, createStreamDecoder: () => createWindowStreamDecoder(decode) };
}
