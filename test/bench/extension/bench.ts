import { execFileSync, spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { recipes, type Recipe } from '../../recipes/recipes.js';
import type { BenchOptions, BenchResult } from '../bench.js';

/**
 * How many files must one touch to add a kind of thing? Every recipe of CONTRIBUTING.md is followed in a copy of the repository:
 * its patch is applied, its command is run, then the suite of the kind. What git finds changed outside of the new folder is counted.
 */

const root = path.resolve(import.meta.dirname, '../../..');

export async function run({ report, args }: BenchOptions): Promise<BenchResult> {
  const wanted =
    args.length === 0 ? Object.entries(recipes) : Object.entries(recipes).filter(([kind]) => args.includes(kind));
  const copy = copyRepository();
  try {
    const followed = wanted.map(([kind, recipe]) => {
      const found = follow(copy, recipe);
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

const git = (cwd: string, ...args: readonly string[]): string =>
  execFileSync('git', args, { cwd, encoding: 'utf8', maxBuffer: 1 << 28 });

/** The tracked files as they are now, in a repository of one commit; the installed packages are shared. */
function copyRepository(): string {
  const copy = mkdtempSync(path.join(tmpdir(), 'ajet-extension-'));
  for (const file of git(root, 'ls-files', '-z').split('\0').filter(Boolean)) {
    if (!existsSync(path.join(root, file))) continue;
    mkdirSync(path.dirname(path.join(copy, file)), { recursive: true });
    cpSync(path.join(root, file), path.join(copy, file));
  }
  symlinkSync(path.join(root, 'node_modules'), path.join(copy, 'node_modules'), 'junction');
  git(copy, 'init', '--quiet');
  git(copy, 'add', '--all');
  git(copy, '-c', 'user.name=bench', '-c', 'user.email=bench@localhost', 'commit', '--quiet', '--message', 'copy');
  return copy;
}

type Followed = { readonly touched: readonly string[]; readonly passed: boolean; readonly tests: number };

function follow(copy: string, { folder, patch, command }: Recipe): Followed {
  git(copy, 'apply', patch);
  const [program, ...args] = command;
  execFileSync(program, args, { cwd: copy, stdio: 'pipe', shell: process.platform === 'win32' });
  const changed = git(copy, 'status', '--porcelain', '--untracked-files=all').split('\n').filter(Boolean);
  const touched = changed
    .map((line) => line.slice(3))
    .filter((file) => file !== 'node_modules' && !file.startsWith(`${folder}/`));
  const suite = runSuite(copy, folder);
  git(copy, 'checkout', '--quiet', '.');
  git(copy, 'clean', '--quiet', '-d', '--force', folder);
  return { touched, ...suite };
}

/** The tests in the new folder, and those that compare the written files with the sources. */
function runSuite(copy: string, folder: string): Pick<Followed, 'passed' | 'tests'> {
  const output = path.join(copy, 'suite.json');
  spawnSync(
    process.execPath,
    [
      'node_modules/vitest/vitest.mjs',
      'run',
      folder,
      'packages/agentjet/src/manual.test.ts',
      '--reporter=json',
      `--outputFile=${output}`,
    ],
    { cwd: copy, stdio: 'ignore' },
  );
  if (!existsSync(output)) return { passed: false, tests: 0 };
  const { success, testResults } = JSON.parse(readFileSync(output, 'utf8')) as {
    readonly success: boolean;
    readonly testResults: readonly { readonly name: string; readonly assertionResults: readonly unknown[] }[];
  };
  rmSync(output);
  const own = testResults.filter(({ name }) => name.replaceAll('\\', '/').includes(`/${folder}/`));
  const tests = own.reduce((sum, { assertionResults }) => sum + assertionResults.length, 0);
  return { passed: success && tests > 0, tests };
}
