import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';

export type Source = { readonly file: string; readonly text: string };

/**
 * A source is TypeScript below a `src` folder, without tests, fixtures, `testing` folders, files named `testing...` and
 * type declarations.
 */
function isSource(file: string): boolean {
  return /(^|\/)src\/.*\.ts$/.test(file) && !/\.(test|d)\.ts$|\/(testing|fixtures)\/|\/testing[^/]*$/.test(file);
}

function git(root: string, args: readonly string[], input = ''): Buffer {
  return execFileSync('git', args, { cwd: root, input, maxBuffer: 1 << 28 });
}

const filesIn = (listed: Buffer): readonly string[] => listed.toString('utf8').split('\0').filter(isSource);

/** Returns the present sources, new files included. */
export function listSources(root: string): readonly Source[] {
  return filesIn(git(root, ['ls-files', '-z', '--cached', '--others', '--exclude-standard']))
    .filter((file) => existsSync(path.join(root, file)))
    .map((file) => ({ file, text: readFileSync(path.join(root, file), 'utf8') }));
}

/** Returns the sources of a commit. */
export function sourcesOf(root: string, commit: string): readonly Source[] {
  const files = filesIn(git(root, ['ls-tree', '-r', '-z', '--name-only', commit]));
  const batch = git(root, ['cat-file', '--batch'], files.map((file) => `${commit}:${file}\n`).join(''));
  let at = 0;
  return files.map((file) => {
    const start = batch.indexOf('\n', at) + 1;
    const size = Number(batch.toString('utf8', at, start).trim().split(' ')[2]);
    at = start + size + 1;
    return { file, text: batch.toString('utf8', start, start + size) };
  });
}
