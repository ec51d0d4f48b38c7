import type { TensorDtype } from '@agentjet/trainer/model-files';

/**
 * A tensor type. GGUF stores numbers in blocks of the same length, each with its own scale. A row of a tensor is a
 * whole number of blocks. The layouts are those of llama.cpp.
 */
export type TensorType = {
  /** The number of the type in a file. */
  readonly id: number;
  readonly name: string;
  readonly blockValues: number;
  readonly blockBytes: number;
  /** The dtype in a model folder: the same dtype, or float32 if values have to be computed from blocks. */
  readonly keptAs: TensorDtype;
  /** Computes the values of whole blocks. Undefined if the bytes already are the values. */
  readonly dequantize?: Dequantize;
};

/** Fills `values` from the blocks in `bytes`. Every operation is rounded to float32. */
export type Dequantize = (bytes: Uint8Array, values: Float32Array) => void;
