import { expect, it } from 'vitest';
import type { SlopeTerms, TrainStepMetrics } from '@agentjet/core';
import { smallPack } from '../testing/small-pack.js';
import { trainInPasses } from './train-in-passes.js';

it('shows a slope equal logprobs if they differ by rounding alone, also those that the batch began with', async () => {
  const { terms, ...pack } = smallPack();
  const rounded = terms.logprobs.map((logprob) => logprob + 5e-4);
  const shown: SlopeTerms[] = [];
  const slope = (given: SlopeTerms): Float64Array => (shown.push(given), new Float64Array(given.logprobs.length));
  await trainInPasses(
    {
      packs: [{ ...pack, terms: { ...terms, proximal: rounded } }],
      loss: { kind: 'slope', slope, temperature: 1, needsProximal: true },
      isOnPolicy: true,
    },
    { termLogprobs: async () => [rounded], trainStep: async () => ({}) as TrainStepMetrics },
  );
  expect(shown.map(({ logprobs, proximal }) => [[...logprobs], [...(proximal ?? [])]])).toEqual([
    [[...terms.logprobs], [...terms.logprobs]],
  ]);
});
