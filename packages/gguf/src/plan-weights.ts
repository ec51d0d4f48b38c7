import { badFile, type PlannedTensor } from '@agentjet/trainer/model-files';
import {
  embeddingTensor,
  embeddingWeight,
  frequencyTensor,
  headTensor,
  headWeight,
  toFolderName,
} from './architectures/tensor-names.js';
import { headsOfRows, toPairedRow } from './architectures/rotated-rows.js';
import type { GgufShape } from './architectures/read-shape.js';
import type { GgufFile, GgufTensor } from './read-gguf.js';
import { isSameMatrix } from './same-matrix.js';
import { readKeptPieces, typeOf } from './tensor-pieces.js';

export type WeightsPlan = {
  readonly tensors: readonly PlannedTensor[];
  readonly isTied: boolean;
  /** Whether the file holds the embedding twice, in two precisions. The more precise one is used. */
  readonly mergesHead: boolean;
};

/**
 * Returns the tensors of a model folder. Throws BackboneError `bad_model_files` if a tensor is missing, unexpected or
 * has the wrong shape.
 */
export async function planWeights(gguf: GgufFile, shape: GgufShape): Promise<WeightsPlan> {
  const { file, tensors } = gguf;
  checkTensors(gguf, shape);
  const [embedding, head] = [tensors.get(embeddingTensor), tensors.get(headTensor)];
  const mergesHead = embedding !== undefined && head !== undefined && (await isSameMatrix(file, embedding, head));
  const source = mergesHead ? finerOf(file, embedding, head) : undefined;
  const planned = [...tensors.values()].flatMap((tensor): readonly PlannedTensor[] => {
    const name = toFolderName(tensor.name);
    if (name === undefined || (mergesHead && name === headWeight)) return [];
    return [planTensor(gguf, { name, tensor: name === embeddingWeight ? (source ?? tensor) : tensor, shape })];
  });
  return { tensors: planned, isTied: head === undefined || mergesHead, mergesHead };
}

type Part = { readonly name: string; readonly tensor: GgufTensor; readonly shape: GgufShape };

function planTensor({ file }: GgufFile, { name, tensor, shape }: Part): PlannedTensor {
  const heads = shape.architecture.pairsRows ? headsOfRows(tensor.name, shape) : undefined;
  // A bias is a single row in the file. Each of its values is moved like a row of a matrix.
  const rows = tensor.shape.length === 1 && heads !== undefined ? { ...tensor, shape: [...tensor.shape, 1] } : tensor;
  const rowAt = heads && ((row: number): number => toPairedRow(row, heads));
  return {
    name,
    dtype: typeOf(file, tensor).keptAs,
    shape: tensor.shape,
    pieces: () => readKeptPieces(file, rows, rowAt),
  };
}

function finerOf(file: string, left: GgufTensor, right: GgufTensor): GgufTensor {
  const bits = (tensor: GgufTensor): number => typeOf(file, tensor).blockBytes / typeOf(file, tensor).blockValues;
  return bits(right) > bits(left) ? right : left;
}

function checkTensors({ file, tensors }: GgufFile, shape: GgufShape): void {
  const expected = expectedShapes(shape, tensors.get(embeddingTensor)?.shape[0] ?? 0);
  for (const tensor of tensors.values()) {
    typeOf(file, tensor);
    if (tensor.name === frequencyTensor) continue;
    const wanted = expected.get(tensor.name);
    if (wanted === undefined)
      throw badFile(
        file,
        `it has a tensor "${tensor.name}", which is unknown here in a ${shape.architecture.name} model of ${shape.numLayers} layers`,
      );
    if (wanted.shape.join() !== tensor.shape.join())
      throw badFile(
        file,
        `tensor "${tensor.name}" has shape [${tensor.shape.join(', ')}], but its metadata ask for [${wanted.shape.join(', ')}]`,
      );
  }
  const missing = [...expected].find(([name, { isRequired }]) => isRequired && !tensors.has(name));
  if (missing !== undefined) throw badFile(file, `it lacks tensor "${missing[0]}"`);
}

type Expected = ReadonlyMap<string, { readonly shape: readonly number[]; readonly isRequired: boolean }>;

function expectedShapes(shape: GgufShape, vocabSize: number): Expected {
  const { architecture, hiddenSize, intermediateSize, numHeads, numKvHeads, headDim, numLayers } = shape;
  const [queries, keys] = [numHeads * headDim, numKvHeads * headDim];
  const { alwaysHasBias, hasHeadNorms } = architecture;
  const found = new Map<string, { readonly shape: readonly number[]; readonly isRequired: boolean }>();
  const expect = (name: string, sizes: readonly number[], isRequired = true): void =>
    void found.set(name, { shape: sizes, isRequired });
  expect(embeddingTensor, [vocabSize, hiddenSize]);
  expect('output_norm.weight', [hiddenSize]);
  expect(headTensor, [vocabSize, hiddenSize], false);
  for (let layer = 0; layer < numLayers; layer++) {
    const inLayer = (name: string, sizes: readonly number[], isRequired = true): void =>
      expect(`blk.${layer}.${name}`, sizes, isRequired);
    for (const name of ['attn_norm.weight', 'ffn_norm.weight']) inLayer(name, [hiddenSize]);
    inLayer('attn_q.weight', [queries, hiddenSize]);
    inLayer('attn_k.weight', [keys, hiddenSize]);
    inLayer('attn_v.weight', [keys, hiddenSize]);
    inLayer('attn_output.weight', [hiddenSize, queries]);
    inLayer('attn_q.bias', [queries], alwaysHasBias);
    inLayer('attn_k.bias', [keys], alwaysHasBias);
    inLayer('attn_v.bias', [keys], alwaysHasBias);
    if (!alwaysHasBias) inLayer('attn_output.bias', [hiddenSize], false);
    if (hasHeadNorms) for (const name of ['attn_q_norm.weight', 'attn_k_norm.weight']) inLayer(name, [headDim]);
    inLayer('ffn_gate.weight', [intermediateSize, hiddenSize]);
    inLayer('ffn_up.weight', [intermediateSize, hiddenSize]);
    inLayer('ffn_down.weight', [hiddenSize, intermediateSize]);
  }
  return found;
}
