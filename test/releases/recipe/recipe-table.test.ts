import { expect, it } from 'vitest';
import { type RecipeRun, tabulateRecipe } from './recipe-table.js';

const toRun = (recipeSeed: number, runSeed: number, after: number): RecipeRun => ({
  tutorial: 'frozen-lake',
  recipe_seed: recipeSeed,
  model_sha256: String(recipeSeed),
  run_seed: runSeed,
  before: 0.14,
  after,
});

const isWithinNoise = (runs: readonly RecipeRun[]) => tabulateRecipe(runs)[0]?.within_noise;

it('three models that reach the same are within noise of one another', () => {
  expect(tabulateRecipe([toRun(7, 1, 0.9), toRun(11, 1, 0.89), toRun(5, 1, 0.92)])).toEqual([
    {
      tutorial: 'frozen-lake',
      before: { '7': 0.14, '11': 0.14, '5': 0.14 },
      after: { '7': 0.9, '11': 0.89, '5': 0.92 },
      band: 0.03,
      within_noise: true,
    },
  ]);
});

it('a model that reaches less, or more, than the others is outside', () => {
  expect(isWithinNoise([toRun(7, 1, 0.9), toRun(11, 1, 0.9), toRun(5, 1, 0.86)])).toBe(false);
  expect(isWithinNoise([toRun(7, 1, 0.9), toRun(11, 1, 0.9), toRun(5, 1, 0.94)])).toBe(false);
});

it('a tutorial whose run seeds differ on one model has a wider band', () => {
  const unsteady = [0.84, 0.9, 0.92].map((after, index) => toRun(5, index + 1, after));
  const row = tabulateRecipe([toRun(7, 1, 0.85), ...unsteady, toRun(11, 1, 0.9)])[0];
  expect(row?.band).toBeCloseTo(0.06, 9);
  expect(row?.within_noise).toBe(true);
});

it('two models say nothing about the recipe', () => {
  expect(isWithinNoise([toRun(7, 1, 0.9), toRun(11, 1, 0.6)])).toBeNull();
});
