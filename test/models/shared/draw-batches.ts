import { createRandom, type Sample } from '@agentjet/core';

/** Draws samples without end: one pass after another, each in a new order. */
export function* drawPasses(samples: readonly Sample[], seed: number): Generator<Sample> {
  const random = createRandom(seed);
  for (;;) yield* shuffle(samples, random.next);
}

/** Makes batches of about `tokensPerStep` row tokens. */
export function* drawBatches(samples: Iterable<Sample>, tokensPerStep: number): Generator<readonly Sample[]> {
  let batch: Sample[] = [];
  let numTokens = 0;
  for (const sample of samples) {
    batch.push(sample);
    numTokens += sample.ids.length;
    if (numTokens < tokensPerStep) continue;
    yield batch;
    batch = [];
    numTokens = 0;
  }
}

function shuffle<T>(items: readonly T[], next: () => number): readonly T[] {
  return items
    .map((item) => ({ item, key: next() }))
    .toSorted((a, b) => a.key - b.key)
    .map(({ item }) => item);
}
