import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import { root } from '../../.ci/workspaces.mjs';
import { doorsOfAgents } from './doors-of-agents.js';

/**
 * A project may have no @types/node and check the declarations of its packages. The test follows the relative imports
 * of the published declarations. Another package is checked through its own entry points.
 */

const compiledOf = (source: string): string => source.replace('/src/', '/dist/').replace(/\.ts$/, '.d.ts');

/** Returns the declarations that an entry point loads from its own package. */
function loadedFrom(file: string, found = new Set<string>()): ReadonlySet<string> {
  if (found.has(file) || !existsSync(path.join(root, file))) return found;
  found.add(file);
  for (const [, name = ''] of readDeclaration(file).matchAll(/\b(?:from|import)\s*\(?\s*["'](\.[^"']+)\.js["']/g))
    loadedFrom(path.posix.join(path.posix.dirname(file), `${name}.d.ts`), found);
  return found;
}

/** Comments may speak of Node. */
const readDeclaration = (file: string): string =>
  readFileSync(path.join(root, file), 'utf8').replaceAll(/\/\*[\s\S]*?\*\//g, '');

it.each(doorsOfAgents)('$door has types that do not need those of Node', ({ source }) => {
  const files = [...loadedFrom(compiledOf(source))];
  expect(files, 'build the packages first: npm run build').not.toEqual([]);
  expect(files.filter((file) => /["']node:|\bNodeJS\.|: Buffer\b/.test(readDeclaration(file)))).toEqual([]);
});
