import { expect, it } from 'vitest';
import { simulate } from './simulation/simulate.js';

const size = 8; // `npm run swarm:simulate` runs thousands of seeds
const firstSeeds = Array.from({ length: 12 }, (_none, index) => 1 + index * size);

it.each(firstSeeds)('loses nothing and trains nothing twice, seeds from %i', async (first) => {
  const failed: string[] = [];
  let numTrained = 0;
  for (let seed = first; seed < first + size; seed++) {
    const { violations, episodesTrained } = await simulate(seed);
    numTrained += episodesTrained;
    if (violations.length > 0) failed.push(`seed ${seed}: ${violations.join('; ')}`);
  }
  expect(failed).toEqual([]);
  expect(numTrained).toBeGreaterThan(size); // a swarm that trains nothing breaks no rule
});

it('runs a seed the same each time', async () => {
  expect(await simulate(7)).toEqual(await simulate(7));
});
