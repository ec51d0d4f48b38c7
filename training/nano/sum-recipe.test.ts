import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { expect, it } from 'vitest';
import { type RecipeSums, sumRecipe } from '../shared/sum-recipe.js';
import { nano } from './nano.js';

it('the recipe begins as it did when its sums were kept', {
  timeout: 300_000,
}, async () => {
  const text = await readFile(path.join(import.meta.dirname, 'sums.json'), 'utf8');
  const { firstLosses, ...kept } = JSON.parse(text) as RecipeSums & { readonly seed: number };
  const { firstLosses: losses, ...sums } = await sumRecipe(nano, nano.seed);
  const advice = 'the recipe makes another model now; `npm run train:nano -- --sums` keeps how it begins';
  expect({ seed: nano.seed, ...sums }, advice).toEqual(kept);
  expect(losses).toHaveLength(firstLosses.length);
  for (const [step, loss] of losses.entries()) expect(loss).toBeCloseTo(firstLosses[step] ?? Number.NaN, 3);
});
