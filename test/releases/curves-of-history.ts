import { execFileSync } from 'node:child_process';
import { toErrorMessage } from '@agentjet/core';
import { type CellCurve, toCellCurve } from './curves.js';

const folder = 'test/releases/results';

/**
 * Returns the curves of every result that a commit of the repository has kept. A result that cannot be read is named
 * and left out.
 */
export function curvesOfHistory(root: string, say: (line: string) => void): readonly CellCurve[] {
  const git = (...args: string[]): string =>
    execFileSync('git', args, { cwd: root, encoding: 'utf8', maxBuffer: 1 << 28 });
  const commits = git('log', '--reverse', '--format=%H', '--', folder).split('\n').filter(Boolean);
  return commits.flatMap((commit) =>
    git('diff-tree', '--root', '--no-commit-id', '--diff-filter=AM', '-r', '--name-only', commit, '--', folder)
      .split('\n')
      .filter((file) => file.endsWith('.json'))
      .flatMap((file) => {
        try {
          return [toCellCurve(JSON.parse(git('show', `${commit}:${file}`)))];
        } catch (error) {
          say(`${file} at ${commit.slice(0, 12)} is left out: ${toErrorMessage(error)}.`);
          return [];
        }
      }),
  );
}
