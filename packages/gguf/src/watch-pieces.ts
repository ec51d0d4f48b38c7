import { BackboneError } from '@agentjet/core';

type Pieces = { readonly pieces: () => Iterable<Uint8Array> | AsyncIterable<Uint8Array> };

export type WatchPiecesOptions = {
  readonly signal?: AbortSignal | undefined;
  /** Called with the number of bytes of all tensors so far. */
  readonly onBytes?: ((doneBytes: number) => void) | undefined;
  /** The message of the error if the signal aborts. */
  readonly stopped: string;
};

/**
 * Returns the same tensors, and reports progress as their pieces are read. Reading throws BackboneError `aborted` once
 * the signal has aborted.
 */
export function watchPieces<Tensor extends Pieces>(
  tensors: readonly Tensor[],
  { signal, onBytes, stopped }: WatchPiecesOptions,
): readonly Tensor[] {
  let doneBytes = 0;
  return tensors.map((tensor) => ({
    ...tensor,
    pieces: async function* watched() {
      for await (const piece of tensor.pieces()) {
        if (signal?.aborted === true) throw new BackboneError('aborted', stopped);
        yield piece;
        onBytes?.((doneBytes += piece.length));
      }
    },
  }));
}
