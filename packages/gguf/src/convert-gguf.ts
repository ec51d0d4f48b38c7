import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { writeTensorsInPieces, type PlannedTensor } from '@agentjet/trainer/model-files';
import { readShape } from './architectures/read-shape.js';
import { frequencyTensor } from './architectures/tensor-names.js';
import { toConfig } from './architectures/to-config.js';
import { planWeights, type WeightsPlan } from './plan-weights.js';
import type { GgufFile } from './read-gguf.js';
import { readKeptPieces, typeOf } from './tensor-pieces.js';
import { toTokenizerFiles } from './tokenizer/to-tokenizer-files.js';
import { watchPieces } from './watch-pieces.js';

export type Conversion = {
  /** The size of the weights in bytes. */
  readonly numBytes: number;
  /** Whether the file holds the embedding twice. The folder has it once. */
  readonly mergesHead: boolean;
  /** Writes config.json and the tokenizer into a folder. */
  readonly writeDescription: (dir: string) => Promise<void>;
  readonly writeWeights: (dir: string, options: WriteOptions) => Promise<void>;
};

export type WriteOptions = {
  readonly signal?: AbortSignal | undefined;
  readonly onBytes?: ((doneBytes: number) => void) | undefined;
};

/** Makes all checks before anything is written. Rejects with BackboneError `bad_model_files` or `unsupported_model`. */
export async function planConversion(gguf: GgufFile): Promise<Conversion> {
  const shape = readShape(gguf);
  const tokenizerFiles = toTokenizerFiles(gguf, shape.contextLength);
  const weights = await planWeights(gguf, shape);
  const { isTied, mergesHead, tensors } = weights;
  const frequencyFactors = await readFrequencyFactors(gguf);
  const config = toConfig(gguf, { shape, isTied, frequencyFactors, dtype: dtypeOf(weights) });
  const files = Object.entries({ 'config.json': config, ...tokenizerFiles });
  return {
    numBytes: tensors.reduce((sum, tensor) => sum + numBytesOf(tensor), 0),
    mergesHead,
    writeDescription: async (dir) => {
      for (const [name, content] of files)
        await writeFile(path.join(dir, name), `${JSON.stringify(content, null, 2)}\n`);
    },
    writeWeights: (dir, options) =>
      writeTensorsInPieces(
        path.join(dir, 'model.safetensors'),
        watchPieces(tensors, { ...options, stopped: 'The conversion was stopped, and nothing of it is kept.' }),
      ),
  };
}

function numBytesOf({ dtype, shape }: PlannedTensor): number {
  return shape.reduce((product, size) => product * size, dtype === 'F32' ? 4 : 2);
}

/**
 * Returns the dtype of the matrices, or float32 if they have several dtypes, because float32 holds all values exactly.
 */
function dtypeOf({ tensors }: WeightsPlan): 'float32' | 'float16' | 'bfloat16' {
  const dtypes = new Set(tensors.filter(({ shape }) => shape.length > 1).map(({ dtype }) => dtype));
  const names = { F32: 'float32', F16: 'float16', BF16: 'bfloat16' } as const;
  const [only = 'F32'] = dtypes;
  return dtypes.size === 1 ? names[only] : 'float32';
}

async function readFrequencyFactors({ file, tensors }: GgufFile): Promise<Float32Array | undefined> {
  const tensor = tensors.get(frequencyTensor);
  if (tensor === undefined || typeOf(file, tensor).keptAs !== 'F32') return undefined;
  for await (const bytes of readKeptPieces(file, tensor))
    return new Float32Array(bytes.buffer, bytes.byteOffset, bytes.length / 4);
  return undefined;
}
