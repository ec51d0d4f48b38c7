import type { JsonObject } from '@agentjet/core';
import { Tokenizer } from '@huggingface/tokenizers';

/** What we use of the library, whose own type files do not resolve under NodeNext. */
export type HfLibrary = {
  encode(text: string, options: { readonly add_special_tokens: boolean }): { readonly ids: readonly number[] };
  /** Not for an empty list. */
  decode(
    ids: readonly number[],
    options: { readonly skip_special_tokens: boolean; readonly clean_up_tokenization_spaces: boolean },
  ): string;
  token_to_id(token: string): number | undefined;
  id_to_token(id: number): string | undefined;
  /** One entry has no token if there are ids without one. */
  get_vocab(): ReadonlyMap<string | undefined, number>;
  get_added_tokens_decoder(): ReadonlyMap<number, { readonly content: string; readonly special: boolean }>;
  readonly model: {
    encode(words: readonly string[]): readonly string[];
    readonly tokens_to_ids: ReadonlyMap<string, number>;
  };
  readonly pre_tokenizer: (PreTokenizer & { readonly tokenizers?: readonly PreTokenizer[] }) | null;
};

type PreTokenizer = { readonly pattern?: RegExp | null };

/** Throws what the library throws. */
export function openHfLibrary(tokenizerJson: JsonObject, tokenizerConfig: JsonObject): HfLibrary {
  return new Tokenizer(tokenizerJson, tokenizerConfig);
}
