import { BackboneError, type JsonObject } from '@agentjet/core';
import { badFile } from '@agentjet/trainer/model-files';
import { flagAt, numberAt, numbersAt, textAt, textsAt } from '../metadata.js';
import type { GgufFile } from '../read-gguf.js';
import { embeddingTensor } from '../architectures/tensor-names.js';
import { findTokenId } from './token-ids.js';
import { preTokenizers, type GgufPreTokenizer } from './pre-tokenizers.js';

/** The tokenizer files of a model folder, by name. */
export type TokenizerFiles = {
  readonly 'tokenizer.json': JsonObject;
  readonly 'tokenizer_config.json': JsonObject;
  readonly 'generation_config.json': JsonObject;
};

type Vocabulary = {
  readonly tokens: readonly string[];
  readonly kinds: readonly number[];
  readonly merges: readonly string[];
  readonly bos: number | undefined;
  readonly eos: number | undefined;
  readonly addsBos: boolean;
};

/**
 * Makes the files from the metadata. Throws BackboneError `unsupported_model` for another kind of tokenizer, and
 * `bad_model_files` for incomplete metadata.
 */
export function toTokenizerFiles(gguf: GgufFile, contextLength: number): TokenizerFiles {
  const pre = readPreTokenizer(gguf);
  const vocabulary = readVocabulary(gguf, pre);
  return {
    'tokenizer.json': toTokenizer(vocabulary, pre),
    'tokenizer_config.json': toTokenizerConfig(gguf, vocabulary, contextLength),
    'generation_config.json': toGenerationConfig(gguf, vocabulary),
  };
}

function readPreTokenizer(gguf: GgufFile): GgufPreTokenizer {
  const model = textAt(gguf, 'tokenizer.ggml.model');
  if (model !== 'gpt2')
    throw unsupported(
      gguf,
      `a tokenizer of kind ${JSON.stringify(model ?? null)}; only byte-level BPE ("gpt2") is read`,
    );
  const name = textAt(gguf, 'tokenizer.ggml.pre') ?? olderName(gguf);
  const found = preTokenizers.find(({ names }) => names.includes(name));
  if (found !== undefined) return found;
  const known = preTokenizers.flatMap(({ names }) => names).join(', ');
  throw unsupported(
    gguf,
    `a tokenizer that splits text by the rule ${JSON.stringify(name)}; the supported rules are ${known}`,
  );
}

/** Files from before May 2024 do not name their pre-tokenizer. Models of Qwen have always used the same one. */
function olderName(gguf: GgufFile): string {
  return textAt(gguf, 'general.architecture')?.startsWith('qwen') === true ? 'qwen2' : 'unnamed';
}

function unsupported({ file }: GgufFile, what: string): BackboneError {
  return new BackboneError(
    'unsupported_model',
    `${file} has ${what}. Use the model's folder in the Hugging Face layout, or its name on the hub.`,
  );
}

function readVocabulary(gguf: GgufFile, { ignoresMerges }: GgufPreTokenizer): Vocabulary {
  const tokens = textsAt(gguf, 'tokenizer.ggml.tokens') ?? [];
  const merges = textsAt(gguf, 'tokenizer.ggml.merges');
  const kinds = numbersAt(gguf, 'tokenizer.ggml.token_type') ?? tokens.map(() => tokenKinds.normal);
  if (tokens.length === 0 || merges === undefined || kinds.length !== tokens.length)
    throw badFile(
      gguf.file,
      `its tokenizer has ${tokens.length} tokens, ${kinds.length} kinds of them and ${merges?.length ?? 'no'} merges`,
    );
  const numRows = gguf.tensors.get(embeddingTensor)?.shape[0] ?? tokens.length;
  if (numRows < tokens.length)
    throw badFile(gguf.file, `its tokenizer has ${tokens.length} tokens, but "${embeddingTensor}" has ${numRows} rows`);
  const broken = merges.find((merge) => !merge.includes(' ', 1));
  if (broken !== undefined) throw badFile(gguf.file, `its merge ${JSON.stringify(broken)} does not name two tokens`);
  const idAt = (name: string): number | undefined => {
    const id = numberAt(gguf, `tokenizer.ggml.${name}_token_id`);
    if (id === undefined || tokens[id] !== undefined) return id;
    throw badFile(gguf.file, `its tokenizer.ggml.${name}_token_id is ${id}, but there are ${tokens.length} tokens`);
  };
  const [bos, eos] = [idAt('bos'), idAt('eos')];
  return { tokens, kinds, merges, bos, eos, addsBos: flagAt(gguf, 'tokenizer.ggml.add_bos_token') ?? ignoresMerges };
}

function toTokenizer(
  vocabulary: Vocabulary,
  { normalizer, preTokenizer, ignoresMerges }: GgufPreTokenizer,
): JsonObject {
  const { tokens, kinds, merges } = vocabulary;
  const entries = tokens.map((token, id) => ({ token, id, kind: kinds[id] }));
  const isAdded = (kind: number | undefined): boolean => kind === tokenKinds.control || kind === tokenKinds.userDefined;
  const byteLevel = { type: 'ByteLevel', add_prefix_space: false, trim_offsets: true, use_regex: true };
  return {
    version: '1.0',
    truncation: null,
    padding: null,
    added_tokens: entries
      .filter(({ kind }) => isAdded(kind))
      .map(({ token, id, kind }) => ({
        id,
        content: token,
        single_word: false,
        lstrip: false,
        rstrip: false,
        normalized: false,
        special: kind === tokenKinds.control,
      })),
    normalizer,
    pre_tokenizer: preTokenizer,
    post_processor: toPostProcessor(vocabulary) ?? byteLevel,
    decoder: byteLevel,
    model: {
      type: 'BPE',
      dropout: null,
      unk_token: null,
      continuing_subword_prefix: null,
      end_of_word_suffix: null,
      fuse_unk: false,
      byte_fallback: false,
      ignore_merges: ignoresMerges,
      vocab: Object.fromEntries(
        entries.filter(({ kind }) => kind !== tokenKinds.unused).map(({ token, id }) => [token, id]),
      ),
      merges: merges.map(toPair),
    },
  };
}

/**
 * Splits a merge into its two tokens. A byte-level token has no space, so the first space after the beginning separates
 * them.
 */
function toPair(merge: string): readonly [string, string] {
  const at = merge.indexOf(' ', 1);
  return [merge.slice(0, at), merge.slice(at + 1)];
}

function toPostProcessor({ tokens, bos, addsBos }: Vocabulary): JsonObject | undefined {
  const token = bos === undefined || !addsBos ? undefined : tokens[bos];
  if (token === undefined) return undefined;
  const [begin, first, second] = [
    { SpecialToken: { id: token, type_id: 0 } },
    { Sequence: { id: 'A', type_id: 0 } },
    { Sequence: { id: 'B', type_id: 1 } },
  ];
  return {
    type: 'TemplateProcessing',
    single: [begin, first],
    pair: [begin, first, { SpecialToken: { id: token, type_id: 1 } }, second],
    special_tokens: { [token]: { id: token, ids: [bos], tokens: [token] } },
  };
}

function toTokenizerConfig(gguf: GgufFile, vocabulary: Vocabulary, contextLength: number): JsonObject {
  const { tokens, bos, eos, addsBos } = vocabulary;
  const tokenOf = (id: number | undefined): string | null => (id === undefined ? null : (tokens[id] ?? null));
  const template = textAt(gguf, 'tokenizer.chat_template');
  return {
    tokenizer_class: 'PreTrainedTokenizerFast',
    add_bos_token: addsBos,
    add_prefix_space: false,
    bos_token: tokenOf(bos),
    eos_token: tokenOf(eos),
    pad_token: tokenOf(findTokenId(gguf, 'padding') ?? eos),
    unk_token: tokenOf(findTokenId(gguf, 'unknown')),
    model_max_length: contextLength,
    clean_up_tokenization_spaces: false,
    ...(template === undefined ? {} : { chat_template: template }),
  };
}

function toGenerationConfig(gguf: GgufFile, { bos, eos }: Vocabulary): JsonObject {
  const ends = [eos, findTokenId(gguf, 'eot')].filter((id) => id !== undefined);
  const padding = findTokenId(gguf, 'padding') ?? eos;
  return {
    ...(bos === undefined ? {} : { bos_token_id: bos }),
    ...(ends.length === 0 ? {} : { eos_token_id: [...new Set(ends)] }),
    ...(padding === undefined ? {} : { pad_token_id: padding }),
  };
}

/** The kinds of tokens, as numbered in `tokenizer.ggml.token_type`. */
export const tokenKinds = { normal: 1, unknown: 2, control: 3, userDefined: 4, unused: 5, byte: 6 } as const;
