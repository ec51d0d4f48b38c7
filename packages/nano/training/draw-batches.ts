import { createRandom, type Sample } from '@agentjet/core';

/** Batches of about `tokensPerStep` row tokens, without end: one pass over the samples after another, each in a new order. */
export function* drawBatches(samples: readonly Sample[], options: { readonly tokensPerStep: number; readonly seed: number }): Generator<readonly Sample[]> {
  const random = createRandom(options.seed);
  let batch: Sample[] = [];
  let numTokens = 0;
  for (;;) {
    for (const sample of shuffle(samples, random.next)) {
      batch.push(sample);
      numTokens += sample.ids.length;
      if (numTokens < options.tokensPerStep) continue;
      yield batch;
      batch = [];
      numTokens = 0;
    }
  }
}

function shuffle<T>(items: readonly T[], next: () => number): readonly T[] {
  return items.map((item) => ({ item, key: next() })).toSorted((a, b) => a.key - b.key).map(({ item }) => item);
}
