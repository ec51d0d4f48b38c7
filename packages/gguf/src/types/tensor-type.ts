import type { TensorDtype } from '@agentjet/trainer/model-files';

/**
 * How GGUF stores numbers: in blocks of the same length, each with its own scale. A row of a tensor is a whole number of blocks.
 * The layouts are those of llama.cpp.
 */
export type TensorType = {
  /** The number that a file names it by. */
  readonly id: number;
  readonly name: string;
  readonly blockValues: number;
  readonly blockBytes: number;
  /** How a model folder keeps it: as it is, or as float32 if a block has to be computed. */
  readonly keptAs: TensorDtype;
  /** Computes whole blocks. Undefined: the bytes are the values. */
  readonly dequantize?: Dequantize;
};

/** Fills `values` with what the blocks of `bytes` hold, in float32 arithmetic: each operation rounds. */
export type Dequantize = (bytes: Uint8Array, values: Float32Array) => void;
