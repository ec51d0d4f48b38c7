import { deriveSeed, shuffleIndices } from '@agentjet/core';
import type { Draw } from '@agentjet/run-folder';

/**
 * Decides which examples a run draws, and in which order. It has no state: a resumed run draws the same examples as an
 * uninterrupted one.
 */
export type ExampleOrder = {
  /** The configured number of examples, or all if there are fewer. */
  readonly batchSize: number;
  readonly totalSteps: number;
  /** Yields the draws from number `first` on. Draws are numbered over all epochs. */
  readonly draws: (first: number) => Generator<Draw & { readonly example: number }, void, undefined>;
};

/** Creates the order. It differs between epochs, and a batch may contain examples of two epochs. */
export function createExampleOrder(
  size: number,
  options: { readonly batchSize: number; readonly epochs: number; readonly seed: number },
): ExampleOrder {
  const batchSize = Math.min(options.batchSize, size);
  const total = size * options.epochs;
  return {
    batchSize,
    totalSteps: Math.ceil(total / batchSize),
    *draws(first) {
      let order: Uint32Array = new Uint32Array();
      for (let place = first; place < total; place++) {
        const [epoch, index] = [Math.floor(place / size), place % size];
        if (order.length === 0 || index === 0) order = shuffleIndices(size, deriveSeed(options.seed, 'sft', epoch));
        yield { epoch, index, example: order[index] ?? 0 };
      }
    },
  };
}
