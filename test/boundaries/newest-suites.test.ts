import { readFileSync, statSync } from 'node:fs';
import { isBuiltin } from 'node:module';
import path from 'node:path';
import { expect, it } from 'vitest';
import { root, workspaces } from '../../.ci/workspaces.mjs';
import { ours, suites } from '../newest/project.mjs';
import { packageOf } from './find-wrong-import.js';
import { importsOf } from './imports-of.js';
import { sourceFiles } from './source-files.js';

/** `npm run test:newest` runs these suites elsewhere, with only a few packages. */

const files = suites.flatMap((suite) =>
  statSync(path.join(root, suite)).isDirectory()
    ? sourceFiles(path.join(root, suite)).map((file) => path.posix.join(suite, file))
    : [suite],
);
const manifest = JSON.parse(readFileSync(path.join(root, 'test/newest/package.json'), 'utf8')) as {
  readonly dependencies: Readonly<Record<string, string>>;
};
const there = new Set([
  ...Object.keys(manifest.dependencies),
  ...workspaces().flatMap(({ dir, name }) => (ours.includes(dir) ? [name] : [])),
]);

function isThere(file: string, specifier: string): boolean {
  if (isBuiltin(specifier)) return true;
  if (!specifier.startsWith('.')) return there.has(packageOf(specifier));
  const target = path.posix.join(path.posix.dirname(file), specifier.replace(/\.js$/, ''));
  return files.some((each) => each.replace(/\.ts$/, '') === target);
}

it('the suites for the newest frameworks import only what is installed or copied with them', () => {
  const missing = files.flatMap((file) =>
    importsOf(file, readFileSync(path.join(root, file), 'utf8'))
      .filter((specifier) => !isThere(file, specifier))
      .map((specifier) => `${file}: ${specifier}`),
  );
  expect(files.length).toBeGreaterThan(50);
  expect(missing).toEqual([]);
});
