import { execFileSync } from 'node:child_process';
import { cpus } from 'node:os';
import { root } from '../../.ci/workspaces.mjs';
import { goldenCases } from './cases.js';
import { readBaseline, writeBaseline, writeGolden } from './golden-files.js';
import { runCase } from './run-case.js';
import { runTutorial, tutorials } from './tutorials.js';

/**
 * `npm run golden` writes the golden files. They hold the results of the baseline commit's code, so the command refuses
 * any other code. `npm run golden -- --new-baseline` makes the current commit the baseline. The command always refuses
 * a changed tree.
 */

const code = ['packages', 'adapters', 'trainer', 'tutorial'];

const git = (...args: readonly string[]): string =>
  execFileSync('git', ['-C', root, ...args], { encoding: 'utf8' }).trim();

function requireBaseline(isNew: boolean): string {
  const changed = git('status', '--porcelain', '--', '.', ':!test/golden-runs');
  if (changed !== '') throw new Error(`The working tree differs from its commit. Commit first:\n${changed}`);
  const { commit } = readBaseline();
  if (isNew) return git('rev-parse', '--short=8', 'HEAD');
  const differing = git('diff', '--shortstat', commit, 'HEAD', '--', ...code);
  if (differing !== '')
    throw new Error(
      `The code differs from the baseline commit ${commit}:\n${differing}\n` +
        `Copy test/golden-runs into a worktree of ${commit}, and run \`npx tsx test/golden-runs/main.ts\` there, or pass --new-baseline.`,
    );
  return commit;
}

const commit = requireBaseline(process.argv.includes('--new-baseline'));
execFileSync('npm', ['run', 'build'], { cwd: root, stdio: 'inherit' });
for (const golden of goldenCases) {
  writeGolden(golden.name, await runCase(golden));
  console.log(golden.name);
}
for (const tutorial of tutorials) {
  writeGolden(tutorial.name, await runTutorial(tutorial));
  console.log(tutorial.name);
}
writeBaseline({ commit, processor: cpus()[0]?.model.trim() ?? '' });
