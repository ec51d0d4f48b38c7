import { isJsonObject, type JsonObject } from '@agentjet/core';
import { openHfLibrary } from './hf-library.js';
import { createIdEncoder, type IdEncoder } from './id-encoder.js';

/**
 * Implements `encodeMarked` for any tokenizer. A second encoder without special tokens encodes the parts with marks.
 */
export function createMarkedEncoder(
  encoder: IdEncoder,
  tokenizerJson: JsonObject,
  tokenizerConfig: JsonObject,
): (text: string, mark: string) => Int32Array {
  let plain: IdEncoder | undefined;
  const encodeSection = (section: string, mark: string): readonly number[] => {
    if (!section.includes(mark)) return encoder.encode(section);
    plain ??= createIdEncoder(
      openHfLibrary(withoutSpecialTokens(tokenizerJson), { ...tokenizerConfig, added_tokens_decoder: {} }),
    );
    return plain.encode(section.replaceAll(mark, ''));
  };
  return (text, mark) =>
    Int32Array.from(
      encoder
        .split(text)
        .flatMap((section) => (typeof section === 'number' ? [section] : encodeSection(section, mark))),
    );
}

function withoutSpecialTokens(tokenizerJson: JsonObject): JsonObject {
  const added = tokenizerJson['added_tokens'];
  const isPlain = (token: unknown): boolean => !isJsonObject(token) || token['special'] !== true;
  return { ...tokenizerJson, added_tokens: Array.isArray(added) ? added.filter(isPlain) : [] };
}
