import type { JsonObject } from '@agentjet/core';
import { Tokenizer } from '@huggingface/tokenizers';
import { type Normalizer, setNormalForms } from './rust-normal-forms.js';
import { splitAsRust, type PreTokenizer } from './rust-patterns.js';

/** The part of the library that we use. Its own type files do not resolve under NodeNext. */
export type HfLibrary = {
  /** The list `ids` must not be empty. */
  decode(
    ids: readonly number[],
    options: { readonly skip_special_tokens: boolean; readonly clean_up_tokenization_spaces: boolean },
  ): string;
  token_to_id(token: string): number | undefined;
  id_to_token(id: number): string | undefined;
  /** If some ids have no token, the map has an entry whose key is undefined. */
  get_vocab(): ReadonlyMap<string | undefined, number>;
  get_added_tokens_decoder(): ReadonlyMap<number, AddedToken>;
  readonly normalizer: (((text: string) => string) & Normalizer) | null;
  readonly pre_tokenizer:
    | (((text: string, options: { readonly section_index: number }) => string[]) & PreTokenizer)
    | null;
  readonly model: ((words: readonly string[]) => readonly string[]) & {
    encode(words: readonly string[]): readonly string[];
    readonly tokens_to_ids: ReadonlyMap<string, number>;
    readonly unk_token_id?: number;
  };
};

/** A token that does not come from the model's merges. */
export type AddedToken = {
  readonly id: number;
  readonly content: string;
  readonly special: boolean;
  /** Whether the token is not matched inside a word. */
  readonly single_word: boolean;
  /** `lstrip`: whether the token includes the spaces before it. `rstrip`: whether it includes the spaces after it. */
  readonly lstrip: boolean;
  readonly rstrip: boolean;
  /** Whether the token is matched in normalized text. */
  readonly normalized: boolean;
};

/** Opens the tokenizer of the library. Throws the errors of the library. */
export function openHfLibrary(tokenizerJson: JsonObject, tokenizerConfig: JsonObject): HfLibrary {
  const library: HfLibrary = new Tokenizer(tokenizerJson, tokenizerConfig);
  if (library.pre_tokenizer !== null) splitAsRust(library.pre_tokenizer, tokenizerJson['pre_tokenizer']);
  if (library.normalizer !== null) setNormalForms(library.normalizer, tokenizerJson['normalizer']);
  return library;
}
