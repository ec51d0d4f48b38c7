import { rmSync } from 'node:fs';
import { copyRepository, followRecipe } from '../../recipes/follow-recipe.js';
import { recipes } from '../../recipes/recipes.js';
import { listOption, type BenchOptions, type BenchResult, type OptionTexts } from '../bench.js';

/**
 * How many files does somebody have to change to add an entry of each kind? Every recipe of CONTRIBUTING.md is followed
 * in a copy of the repository: its patch is applied, its command is run, and then the test suite for this kind of entry
 * runs. The benchmark counts the files outside of the new folder that git reports as changed.
 */

export const optionTexts: OptionTexts = { '--only <kind>,...': 'follows some recipes' };

export async function run({ report, args }: BenchOptions): Promise<BenchResult> {
  const kinds = listOption(args, '--only', Object.keys(recipes));
  const wanted = Object.entries(recipes).filter(([kind]) => kinds.includes(kind));
  const copy = copyRepository();
  try {
    const followed = wanted.map(([kind, recipe]) => {
      const found = followRecipe(copy, recipe);
      report(
        `${kind}: ${found.touched.length} files outside of ${recipe.folder} (${found.touched.join(', ')}), ${found.tests} tests ${found.passed ? 'passed' : 'FAILED'}`,
      );
      return [kind, found] as const;
    });
    const summary = followed.map(
      ([kind, { touched, passed }]) => [kind, { files_touched: touched.length, suite_passed: passed }] as const,
    );
    return { summary: Object.fromEntries(summary), details: Object.fromEntries(followed) };
  } finally {
    rmSync(copy, { recursive: true, force: true });
  }
}
