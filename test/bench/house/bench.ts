import { existsSync, readFileSync, rmSync } from 'node:fs';
import path from 'node:path';
import { copyRepository, followRecipe } from '../../recipes/follow-recipe.js';
import { recipes } from '../../recipes/recipes.js';
import type { BenchOptions, BenchResult, OptionTexts } from '../bench.js';
import { probeImport } from '../import/probe-import.js';
import { countCodeLines, countLines } from './count-lines.js';
import { findDeclaredTwice } from './declared-twice.js';
import { findCircles } from './import-circles.js';
import { listSources, sourcesOf } from './sources.js';

/**
 * How large is the repository, and how tidy? It counts lines of code, names that two files declare, import cycles, the
 * recipes of CONTRIBUTING.md, and what `import 'agentjet'` loads. `--no-recipes` leaves out the recipes, which take
 * minutes.
 */

const root = path.resolve(import.meta.dirname, '../../..');

/** The commit with which the present sizes are compared. */
const baselineCommit = 'e2a79bc1';

/** The file that shows sample, judge, credit, step, record, evaluate and save. */
const loopFile = 'packages/run/src/loop.ts';

const sum = (counts: readonly number[]): number => counts.reduce((total, count) => total + count, 0);

function followRecipes(report: BenchOptions['report']) {
  const copy = copyRepository();
  try {
    return Object.entries(recipes).map(([kind, recipe]) => {
      const followed = followRecipe(copy, recipe);
      report(`recipe of one more ${kind}: ${followed.tests} tests ${followed.passed ? 'passed' : 'FAILED'}`);
      return { kind, ...followed };
    });
  } finally {
    rmSync(copy, { recursive: true, force: true });
  }
}

function describeLoop(): { readonly path: string; readonly lines: number } | null {
  const file = path.join(root, loopFile);
  return existsSync(file) ? { path: loopFile, lines: countLines(readFileSync(file, 'utf8')) } : null;
}

export const optionTexts: OptionTexts = { '--no-recipes': 'follows no recipe' };

export async function run({ report, args }: BenchOptions): Promise<BenchResult> {
  const sources = listSources(root);
  const baseline = sourcesOf(root, baselineCommit);
  const twice = findDeclaredTwice(
    root,
    sources.map(({ file }) => file),
  );
  const circles = findCircles(sources, 'all');
  const loading = findCircles(sources, 'values');
  const followed = args.includes('--no-recipes') ? [] : followRecipes(report);
  const { files: loaded } = probeImport('agentjet', { cwd: root });
  const summary = {
    baseline: { commit: baselineCommit, code_lines: sum(baseline.map(countCodeLines)) },
    code_lines: sum(sources.map(countCodeLines)),
    files: sources.length,
    files_under_15_lines: sources.filter(({ text }) => countLines(text) < 15).length,
    declared_twice: twice.length,
    import_circles: circles.length,
    circles_that_are_not_types_only: loading.length,
    recipes: { followed: followed.length, passed: followed.filter(({ passed }) => passed).length },
    import_files_loaded: loaded.length,
    loop_file: describeLoop(),
  };
  report(JSON.stringify(summary, null, 2));
  return { summary, details: { declared_twice_names: Object.fromEntries(twice), circles, recipes_followed: followed } };
}
