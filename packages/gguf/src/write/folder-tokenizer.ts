import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { BackboneError, isJsonObject, parseJsonObject, type JsonObject } from '@agentjet/core';
import { recognizePreTokenizer, preTokenizers } from '../tokenizer/pre-tokenizers.js';
import { tokenKinds } from '../tokenizer/to-tokenizer-files.js';

/** The tokenizer of a model folder, in the form of a GGUF file. */
export type FolderTokenizer = {
  readonly pre: string;
  /** The tokens, one for each row of the embedding. */
  readonly tokens: readonly string[];
  readonly kinds: readonly number[];
  /** Each merge has the form `a b`. */
  readonly merges: readonly string[];
  readonly addsBos: boolean;
  /** The ids of `bos`, `eos`, `eot`, `padding` and `unknown`, as far as the tokenizer has them. */
  readonly specialIds: Readonly<Record<string, number>>;
  readonly chatTemplate: string | undefined;
};

/**
 * Reads the tokenizer of a model folder. Throws BackboneError `unsupported_model` for a tokenizer that GGUF cannot
 * express, and `bad_model_files` if the folder has no tokenizer.
 */
export async function readFolderTokenizer(dir: string, vocabSize: number): Promise<FolderTokenizer> {
  const read = async (name: string): Promise<JsonObject> =>
    parseJsonObject(await readFile(path.join(dir, name), 'utf8').catch(() => '')) ?? {};
  const tokenizer = await read('tokenizer.json');
  const [config, generation, modelConfig] = [
    await read('tokenizer_config.json'),
    await read('generation_config.json'),
    await read('config.json'),
  ];
  const { model } = tokenizer;
  if (!isJsonObject(model))
    throw new BackboneError('bad_model_files', `${dir} has no tokenizer.json, so no GGUF file can be made of it.`);
  const pre = recognizePreTokenizer(tokenizer['pre_tokenizer']);
  if (model['type'] !== 'BPE' || model['byte_fallback'] === true || pre === undefined)
    throw new BackboneError(
      'unsupported_model',
      `The tokenizer of ${dir} cannot be written as GGUF: only byte-level BPE that splits text by one of these rules can: ${preTokenizers.map(({ names }) => names[0]).join(', ')}. Export a folder instead, and convert it with llama.cpp's convert_hf_to_gguf.py.`,
    );
  const { tokens, kinds } = toTokens(dir, { vocab: model['vocab'], added: tokenizer['added_tokens'], vocabSize });
  return {
    pre: pre.names[0],
    tokens,
    kinds,
    merges: toMerges(model['merges']),
    addsBos: config['add_bos_token'] === true || beginsWithToken(tokenizer['post_processor']),
    specialIds: toSpecialIds(dir, { tokens, config, generation, modelConfig }),
    chatTemplate: await readTemplate(dir, config),
  };
}

type Vocabulary = { readonly vocab: unknown; readonly added: unknown; readonly vocabSize: number };
type Tokens = { readonly tokens: readonly string[]; readonly kinds: readonly number[] };

function toTokens(dir: string, { vocab, added, vocabSize }: Vocabulary): Tokens {
  const tokens = Array.from({ length: vocabSize }, (_, id) => `[PAD${id}]`);
  const kinds = tokens.map((): number => tokenKinds.unused);
  const put = (token: string, id: unknown, kind: number): void => {
    if (typeof id !== 'number' || id >= vocabSize)
      throw new BackboneError(
        'bad_model_files',
        `Token ${JSON.stringify(token)} of ${dir} has id ${String(id)}, but the model has ${vocabSize} embeddings.`,
      );
    tokens[id] = token;
    kinds[id] = kind;
  };
  for (const [token, id] of Object.entries(isJsonObject(vocab) ? vocab : {})) put(token, id, tokenKinds.normal);
  for (const entry of Array.isArray(added) ? added : []) {
    if (!isJsonObject(entry) || typeof entry['content'] !== 'string') continue;
    put(entry['content'], entry['id'], entry['special'] === true ? tokenKinds.control : tokenKinds.userDefined);
  }
  return { tokens, kinds };
}

/** Older files have strings such as `a b`, and newer ones have pairs. */
function toMerges(merges: unknown): readonly string[] {
  return (Array.isArray(merges) ? merges : []).map((merge: unknown) =>
    Array.isArray(merge) ? merge.join(' ') : String(merge),
  );
}

function beginsWithToken(processor: unknown): boolean {
  if (!isJsonObject(processor)) return false;
  const { processors, single } = processor;
  if (Array.isArray(processors)) return processors.some(beginsWithToken);
  return Array.isArray(single) && isJsonObject(single[0]) && 'SpecialToken' in single[0];
}

type SpecialParts = {
  readonly tokens: readonly string[];
  readonly config: JsonObject;
  readonly generation: JsonObject;
  readonly modelConfig: JsonObject;
};

function toSpecialIds(
  dir: string,
  { tokens, config, generation, modelConfig }: SpecialParts,
): Readonly<Record<string, number>> {
  const named = (key: string): number | undefined => {
    const entry = config[key];
    const content = isJsonObject(entry) ? entry['content'] : entry;
    const id = typeof content === 'string' ? tokens.indexOf(content) : -1;
    return id === -1 ? undefined : id;
  };
  const ids = (key: string): readonly number[] =>
    [generation[key] ?? modelConfig[key]].flat().filter((id): id is number => typeof id === 'number');
  const eos = named('eos_token') ?? ids('eos_token_id')[0];
  if (eos === undefined)
    throw new BackboneError(
      'bad_model_files',
      `${dir} does not say which token ends an answer (eos_token in tokenizer_config.json), so llama.cpp would choose one.`,
    );
  const found = {
    bos: named('bos_token') ?? ids('bos_token_id')[0],
    eos,
    eot: ids('eos_token_id').find((id) => id !== eos),
    padding: named('pad_token') ?? ids('pad_token_id')[0],
    unknown: named('unk_token'),
  };
  return Object.fromEntries(Object.entries(found).flatMap(([name, id]) => (id === undefined ? [] : [[name, id]])));
}

async function readTemplate(dir: string, { chat_template: kept }: JsonObject): Promise<string | undefined> {
  const jinja = await readFile(path.join(dir, 'chat_template.jinja'), 'utf8').catch(() => undefined);
  if (jinja !== undefined) return jinja;
  const listed: unknown = Array.isArray(kept)
    ? kept.find((entry: unknown) => isJsonObject(entry) && entry['name'] === 'default')
    : undefined;
  const source = isJsonObject(listed) ? listed['template'] : kept;
  return typeof source === 'string' ? source : undefined;
}
