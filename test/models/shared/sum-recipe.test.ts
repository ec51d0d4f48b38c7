import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { expect } from 'vitest';
import { longIt } from '../../long-tests.js';
import { micro } from '../micro/micro.js';
import { nano } from '../nano/nano.js';
import { type RecipeSums, sumRecipe } from './sum-recipe.js';

longIt.each([nano, micro])('the recipe of $name begins as it did when its sums were kept', async (recipe) => {
  const text = await readFile(path.join(import.meta.dirname, '..', recipe.name, 'sums.json'), 'utf8');
  const { firstLosses, ...kept } = JSON.parse(text) as RecipeSums & { readonly seed: number };
  const { firstLosses: losses, ...sums } = await sumRecipe(recipe, recipe.seed);
  const advice = `the recipe makes another model now; \`npm run train:${recipe.name} -- --sums\` keeps how it begins`;
  expect({ seed: recipe.seed, ...sums }, advice).toEqual(kept);
  expect(losses).toHaveLength(firstLosses.length);
  for (const [step, loss] of losses.entries()) expect(loss).toBeCloseTo(firstLosses[step] ?? Number.NaN, 3);
});
