import { existsSync } from 'node:fs';
import { rename, rm, stat } from 'node:fs/promises';
import path from 'node:path';
import { BackboneError } from '@agentjet/core';
import { describeFileError } from '@agentjet/run-folder';
import { readModelFolder } from '@agentjet/trainer/model-files';
import { llama3Factors } from '../architectures/llama3-frequencies.js';
import { frequencyTensor } from '../architectures/tensor-names.js';
import { watchPieces } from '../watch-pieces.js';
import { readFolderShape, type FolderShape } from './folder-shape.js';
import { readFolderTokenizer, type FolderTokenizer } from './folder-tokenizer.js';
import { writeGguf, type GgufContent, type GgufTensorPlan, type MetadataValue } from './gguf-writer.js';
import { planTensors, type ExportType } from './plan-tensors.js';
import { float32Type } from './written-types.js';

export type ExportGgufOptions = {
  readonly type: ExportType;
  /** The name of the model in the file. Default: the name of the file. */
  readonly name?: string;
  readonly signal?: AbortSignal | undefined;
};

export type ExportedGguf = { readonly file: string; readonly numBytes: number };

/**
 * Writes a model folder as one GGUF file. If this fails, it leaves no file. Rejects with BackboneError
 * `unsupported_model`, `bad_model_files`, `aborted`, or `checkpoint` if the file exists or cannot be written.
 */
export async function exportGguf(dir: string, target: string, options: ExportGgufOptions): Promise<ExportedGguf> {
  const file = path.resolve(target);
  if (existsSync(file)) throw new BackboneError('checkpoint', `${file} is there already. Name a new file.`);
  const folder = await readModelFolder(dir);
  const shape = readFolderShape(folder);
  const tokenizer = await readFolderTokenizer(dir, shape.vocabSize);
  const { type, name = path.basename(file, '.gguf'), signal } = options;
  const tensors = [...frequencyPlan(shape), ...planTensors(folder, shape, type)];
  const content = {
    metadata: toMetadata({ shape, tokenizer, type, name }),
    tensors: watchPieces(tensors, { signal, stopped: `Stopped before all was written, so ${file} was not made.` }),
  };
  await writeWhole(file, content);
  return { file, numBytes: (await stat(file)).size };
}

async function writeWhole(file: string, content: GgufContent): Promise<void> {
  const temporary = path.join(path.dirname(file), `.${path.basename(file)}.writing-${process.pid}`);
  try {
    await writeGguf(temporary, content);
    await rename(temporary, file);
  } catch (error) {
    await rm(temporary, { force: true });
    if (error instanceof BackboneError) throw error;
    throw new BackboneError('checkpoint', describeFileError(file, error, 'another file'), { cause: error });
  }
}

function frequencyPlan({ scaling, theta, headDim }: FolderShape): readonly GgufTensorPlan[] {
  if (scaling?.type !== 'llama3') return [];
  const bytes = float32Type.encode(llama3Factors(scaling, { theta, headDim }));
  const shape = [headDim / 2];
  return [{ name: frequencyTensor, shape, typeId: float32Type.id, numBytes: bytes.length, pieces: () => [bytes] }];
}

type MetadataParts = {
  readonly shape: FolderShape;
  readonly tokenizer: FolderTokenizer;
  readonly type: ExportType;
  readonly name: string;
};

/** `general.file_type` of llama.cpp. */
const fileTypes: { readonly [type in ExportType]: number } = { f16: 1, q8_0: 7 };

function toMetadata({ shape, tokenizer, type, name }: MetadataParts): GgufContent['metadata'] {
  const string = (value: string): MetadataValue => ({ type: 'string', value });
  const uint32 = (value: number): MetadataValue => ({ type: 'uint32', value });
  const float32 = (value: number): MetadataValue => ({ type: 'float32', value });
  const { architecture, scaling } = shape;
  const of = (key: string): string => `${architecture.name}.${key}`;
  const stretched: GgufContent['metadata'] =
    scaling === undefined || scaling.type === 'llama3'
      ? []
      : [
          [of('rope.scaling.type'), string(scaling.type)],
          [of('rope.scaling.factor'), float32(scaling.factor)],
          [of('rope.scaling.original_context_length'), uint32(scaling.originalContextLength ?? shape.contextLength)],
        ];
  return [
    ['general.architecture', string(architecture.name)],
    ['general.type', string('model')],
    ['general.name', string(name)],
    ['general.file_type', uint32(fileTypes[type])],
    ['general.quantization_version', uint32(2)],
    [of('vocab_size'), uint32(shape.vocabSize)],
    [of('context_length'), uint32(shape.contextLength)],
    [of('embedding_length'), uint32(shape.hiddenSize)],
    [of('block_count'), uint32(shape.numLayers)],
    [of('feed_forward_length'), uint32(shape.intermediateSize)],
    [of('attention.head_count'), uint32(shape.numHeads)],
    [of('attention.head_count_kv'), uint32(shape.numKvHeads)],
    [of('attention.key_length'), uint32(shape.headDim)],
    [of('attention.value_length'), uint32(shape.headDim)],
    [of('attention.layer_norm_rms_epsilon'), float32(shape.rmsNormEpsilon)],
    [of('rope.dimension_count'), uint32(shape.headDim)],
    [of('rope.freq_base'), float32(shape.theta)],
    ...stretched,
    ['tokenizer.ggml.model', string('gpt2')],
    ['tokenizer.ggml.pre', string(tokenizer.pre)],
    ['tokenizer.ggml.tokens', { type: 'strings', value: tokenizer.tokens }],
    ['tokenizer.ggml.token_type', { type: 'int32s', value: tokenizer.kinds }],
    ['tokenizer.ggml.merges', { type: 'strings', value: tokenizer.merges }],
    ...Object.entries(tokenizer.specialIds).map(
      ([special, id]) => [`tokenizer.ggml.${special}_token_id`, uint32(id)] as const,
    ),
    ['tokenizer.ggml.add_bos_token', { type: 'bool', value: tokenizer.addsBos }],
    ...(tokenizer.chatTemplate === undefined
      ? []
      : [['tokenizer.chat_template', string(tokenizer.chatTemplate)] as const]),
  ];
}
