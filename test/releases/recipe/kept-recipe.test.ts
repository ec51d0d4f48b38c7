import { readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import { type RecipeRun, tabulateRecipe, type TutorialRow } from './recipe-table.js';

/** Checks what packages/nano/README.md says of the recipe against the kept runs. */

type Kept = { readonly tutorials: readonly TutorialRow[]; readonly runs: readonly RecipeRun[] };
const kept = JSON.parse(readFileSync(path.join(import.meta.dirname, 'nano.json'), 'utf8')) as Kept;
const page = readFileSync(path.resolve(import.meta.dirname, '../../../packages/nano/README.md'), 'utf8');

it('the kept table follows from the kept runs', () => {
  const byName = (rows: readonly TutorialRow[]) => new Map(rows.map((row) => [row.tutorial, row]));
  expect(byName(kept.tutorials)).toEqual(byName(tabulateRecipe(kept.runs)));
});

it('three models are within noise of one another in all tutorials', () => {
  const outside = kept.tutorials.filter(({ within_noise: isWithin }) => isWithin !== true);
  expect(outside.map(({ tutorial }) => tutorial)).toEqual([]);
});

it('every model learns in every tutorial, but for the one that imitates before', () => {
  const learned = kept.tutorials.filter(({ tutorial }) => tutorial !== 'large-to-small');
  for (const { tutorial, before, after } of learned) {
    expect(Object.keys(after), tutorial).toHaveLength(3);
    for (const [seed, success] of Object.entries(after))
      expect(success, `${tutorial}, recipe seed ${seed}`).toBeGreaterThan(before[seed] ?? 1);
  }
});

it('the page has a row for each tutorial that was run', () => {
  const rows = page.split('\n').filter((line) => line.startsWith('| '));
  const missing = kept.tutorials.filter(
    ({ tutorial }) => !rows.some((row) => row.includes(`<!--recipe-nano.${tutorial}-recipe-`)),
  );
  expect(missing).toEqual([]);
});
