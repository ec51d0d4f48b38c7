import { isJsonObject, type JsonObject } from '@agentjet/core';
import { type HfLibrary, openHfLibrary } from './hf-library.js';
import { createAddedPattern } from './word-encoder.js';

/** `encodeMarked` for tokenizers of any kind: text with marks is encoded by a second one that knows no special tokens. */
export function createMarkedEncoder(
  library: HfLibrary,
  tokenizerJson: JsonObject,
  tokenizerConfig: JsonObject,
): (text: string, mark: string) => Int32Array {
  const addedIds = new Map([...library.get_added_tokens_decoder()].map(([id, { content }]) => [content, id]));
  const addedPattern = createAddedPattern([...addedIds.keys()]);
  let plain: HfLibrary | undefined;
  const encodeSection = (section: string, mark: string): readonly number[] => {
    if (section === '') return [];
    if (!section.includes(mark)) return library.encode(section, { add_special_tokens: false }).ids;
    plain ??= openHfLibrary(withoutSpecialTokens(tokenizerJson), { ...tokenizerConfig, added_tokens_decoder: {} });
    return plain.encode(section.replaceAll(mark, ''), { add_special_tokens: false }).ids;
  };
  return (text, mark) => {
    const sections = addedPattern === undefined ? [text] : text.split(addedPattern);
    return Int32Array.from(
      sections.flatMap((section) => {
        const id = addedIds.get(section);
        return id === undefined ? encodeSection(section, mark) : [id];
      }),
    );
  };
}

function withoutSpecialTokens(tokenizerJson: JsonObject): JsonObject {
  const added = tokenizerJson['added_tokens'];
  const isPlain = (token: unknown): boolean => !isJsonObject(token) || token['special'] !== true;
  return { ...tokenizerJson, added_tokens: Array.isArray(added) ? added.filter(isPlain) : [] };
}
