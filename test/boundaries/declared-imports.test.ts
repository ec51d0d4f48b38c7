import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { isBuiltin } from 'node:module';
import path from 'node:path';
import { expect, it } from 'vitest';
import { root, workspaces } from '../../.ci/workspaces.mjs';
import { packageOf } from './find-wrong-import.js';
import { importsOf } from './imports-of.js';

/**
 * pnpm and Yarn let a package import only what its package.json declares. The compiler writes imports into type
 * declarations that no source contains, such as those of an inferred zod schema. Therefore the test reads the files that
 * are published.
 */

type Workspace = ReturnType<typeof workspaces>[number];

/** The compiled files of a package. Outputs of deleted sources, which only an older build left, are not published. */
function publishedFiles(dir: string): readonly string[] {
  return readdirSync(path.join(root, dir, 'dist'), { recursive: true, encoding: 'utf8' }).filter(
    (file) =>
      /\.(d\.ts|js)$/.test(file) && existsSync(path.join(root, dir, 'src', file.replace(/(\.d\.ts|\.js)$/, '.ts'))),
  );
}

/** Finds every import, and may find one in a comment too. It takes a tenth of the time of a parser. */
function mayImport(source: string): readonly string[] {
  return [...source.matchAll(/\b(?:from|import|require)\s*\(?\s*(['"])([^'"\n]+)\1/g)].map(([, , name = '']) => name);
}

function undeclaredIn({ dir, name, manifest }: Workspace): readonly string[] {
  const declared = new Set([
    name,
    ...Object.keys(manifest.dependencies ?? {}),
    ...Object.keys(manifest.peerDependencies ?? {}),
  ]);
  const isUndeclared = (specifier: string): boolean =>
    !/^[.#]|^virtual:/.test(specifier) && !isBuiltin(specifier) && !declared.has(packageOf(specifier));
  return publishedFiles(dir).flatMap((file) => {
    const source = readFileSync(path.join(root, dir, 'dist', file), 'utf8');
    const found = mayImport(source).some(isUndeclared) ? importsOf(file, source).filter(isUndeclared) : [];
    return [...new Set(found.map(packageOf))].map((each) => `${dir}/dist/${file}: ${each}`);
  });
}

it.each(workspaces())('$dir declares every import of its published files', (workspace) => {
  expect(publishedFiles(workspace.dir), 'build the packages first: npm run build').not.toEqual([]);
  expect(undeclaredIn(workspace)).toEqual([]);
});
