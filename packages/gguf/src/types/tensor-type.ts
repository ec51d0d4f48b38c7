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
  /** The type in a model folder: unchanged, or float32 if a block has to be computed. */
  readonly keptAs: TensorDtype;
  /** Computes whole blocks. Undefined if the bytes are the values. */
  readonly dequantize?: Dequantize;
};

/** Fills `values` from the blocks of `bytes` in float32 arithmetic, so each operation rounds. */
export type Dequantize = (bytes: Uint8Array, values: Float32Array) => void;
