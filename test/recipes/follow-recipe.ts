import { execFileSync, spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Recipe } from './recipes.js';

/**
 * Follows a recipe in a copy of the repository: applies its patch, runs its command, then runs the suite of the kind.
 */

const root = path.resolve(import.meta.dirname, '../..');

const git = (cwd: string, ...args: readonly string[]): string =>
  execFileSync('git', args, { cwd, encoding: 'utf8', maxBuffer: 1 << 28 });

/**
 * Copies the tracked files as they are now into a repository of one commit. The installed packages are shared. The
 * caller removes the copy.
 */
export function copyRepository(): string {
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

export type Followed = {
  readonly touched: readonly string[];
  /** True if the suite passed, and neither the command of the recipe nor the compiler had a problem. */
  readonly passed: boolean;
  readonly tests: number;
  readonly problems: string;
};

/** `touched` lists the files outside of the new folder that git reports as changed. */
export function followRecipe(copy: string, { folder, patch, command }: Recipe): Followed {
  git(copy, 'apply', patch);
  const [program, ...args] = command;
  const written = spawnSync(program, args, { cwd: copy, encoding: 'utf8', shell: process.platform === 'win32' });
  const refusal = written.status === 0 ? '' : `${program} ended with ${written.status}: ${written.stderr}`;
  const changed = git(copy, 'status', '--porcelain', '--untracked-files=all').split('\n').filter(Boolean);
  const touched = changed
    .map((line) => line.slice(3))
    .filter((file) => file !== 'node_modules' && !file.startsWith(`${folder}/`));
  const suite = runSuite(copy, folder);
  const problems = refusal + compile(copy, folder);
  git(copy, 'checkout', '--quiet', '.');
  git(copy, 'clean', '--quiet', '-d', '--force', folder);
  return { touched, tests: suite.tests, passed: suite.passed && problems === '', problems };
}

/** Returns what the compiler says of the new folder, or an empty string if it has no complaint. */
function compile(copy: string, folder: string): string {
  const project = path.join(copy, 'tsconfig.recipe.json');
  writeFileSync(project, JSON.stringify({ extends: './tsconfig.check.json', include: [folder] }));
  const { stdout } = spawnSync(process.execPath, ['node_modules/typescript/bin/tsc', '-p', project], {
    cwd: copy,
    encoding: 'utf8',
  });
  rmSync(project);
  return stdout;
}

/** Runs the tests in the new folder, and those that compare the written files with the sources. */
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
