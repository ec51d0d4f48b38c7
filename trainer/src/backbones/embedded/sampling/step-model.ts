/**
 * The scheduler's view of a model: one forward pass over new tokens of several rows, each with its own past. The past
 * keys and values belong to the caller. The pass returns the new ones for the caller to append, or appends them itself.
 */

export type KvShape = { readonly numLayers: number; readonly numKvHeads: number; readonly headDim: number };

export type StepInput = {
  /** B: the number of rows. */
  readonly numRows: number;
  /** T: new tokens per row; shorter rows are padded at their end. */
  readonly width: number;
  /** S: room for past tokens per row. */
  readonly pastLength: number;
  /** Shape [B, T]. */
  readonly ids: Int32Array;
  /** Shape [B, T]: depth of each token in its row. */
  readonly positions: Int32Array;
  /** Shape [B]: index into the flat [B * T] tokens of the token whose next-token distribution is wanted. */
  readonly lastTokens: Int32Array;
  /**
   * Shape [B, T, S + T]: added to the attention scores of past tokens, then of new tokens; 0 is visible, `hidden` is
   * not.
   */
  readonly bias: Float32Array;
  /** Shape [B]: 1 / temperature. */
  readonly inverseTemperatures: Float32Array;
  /**
   * 2 * numLayers buffers, keys then values of each layer, shape [B, numKvHeads, S, headDim]; finite everywhere. It is the
   * same array as before only if B and S are the same, too.
   */
  readonly past: readonly Float32Array[];
};

/** The arrays are valid until the next pass. */
export type StepOutput = {
  /** Shape [B, vocabSize]: softmax of the logits times the inverse temperature. */
  readonly probabilities: Float32Array;
  /** Shape [2 * numLayers, B, numKvHeads, T, headDim], in the order of `past`. Null if the model has stored them in `past`. */
  readonly fresh: Float32Array | null;
};

/** The sizes of keys and values, which stay the same when the weights change. */
export type StepShape = {
  readonly vocabSize: number;
  /** The limit of a row, in tokens. */
  readonly contextLength: number;
  readonly kvShape: KvShape;
  /** The fixed cost of a pass. Its unit is the time to read one past token. */
  readonly passCost: number;
};

export interface StepModel extends StepShape {
  /** Yields to the event loop before it computes, so that calls can arrive and leave between two steps. */
  run(input: StepInput): Promise<StepOutput>;
}

/** The bias of a token that must not be seen. Its softmax is exactly 0. */
export const hidden = -1e9;

export function kvBytesPerToken({ numLayers, numKvHeads, headDim }: KvShape): number {
  return 2 * numLayers * numKvHeads * headDim * Float32Array.BYTES_PER_ELEMENT;
}
