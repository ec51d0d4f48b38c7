import { readFileSync } from 'node:fs';
import { builtinModules } from 'node:module';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { arrows, roomArrows } from '../../.ci/arrows.mjs';
import { root, workspaces } from '../../.ci/workspaces.mjs';
import { findWrongImport, packageOf } from './find-wrong-import.js';
import { importsOf } from './imports-of.js';
import { sourceFiles } from './source-files.js';

const packages = workspaces();
const rooms = { packages, arrows, roomArrows };
const files = sourceFiles(root);
const imports = files.flatMap((file) =>
  importsOf(file, readFileSync(path.join(root, file), 'utf8')).map((specifier) => ({ file, specifier })),
);

/** The sources that users run, without tests and their helpers. */
const isShipped = ({ file }: { readonly file: string }): boolean =>
  /\/(src|bin|page)\//.test(file) && !/\.test\.ts$|testing/.test(file);
const shippedBy = (dir: string) => imports.filter((found) => found.file.startsWith(`${dir}/`) && isShipped(found));
/** The page of a package is built before it is packed, so what it imports is part of it. */
const isBundled = (file: string, specifier: string, { devDependencies = {} }: { readonly devDependencies?: object }) =>
  file.includes('/page/') && packageOf(specifier) in devDependencies;
const isForeign = ({ specifier }: { readonly specifier: string }): boolean =>
  !/^[.#]|^node:|^virtual:/.test(specifier) &&
  !builtinModules.includes(specifier) &&
  !packages.some(({ name }) => name === packageOf(specifier));

describe('arrows', () => {
  it('points down in every source file, tests and build scripts included', () => {
    expect(imports.flatMap(({ file, specifier }) => findWrongImport(file, specifier, rooms) ?? [])).toEqual([]);
  });

  it.each([
    ['a source', 'packages/core/src/run.ts', '@agentjet/rollout'],
    ['a test', 'packages/core/src/run.test.ts', '@agentjet/rollout'],
    ['a build script of a package', 'trainer/torch/bench/run.mjs', 'agentjet'],
    ['a path into another package', 'packages/rollout/src/run.ts', '../../core/src/index.js'],
    ['a path into the tests', 'packages/core/src/run.test.ts', '../../../test/bench/bench.js'],
    ['the training of a model, from a package', 'packages/nano/src/index.ts', '../../../test/models/nano/main.js'],
    ['a tutorial by its short name, from a package', 'packages/nano/src/index.ts', '#tutorial/01/lake.js'],
    ['a test, from a tutorial', 'tutorial/frozen-lake/lake.ts', '../../test/bench/bench.js'],
    ['a file past the door of a package', 'test/e2e/run.test.ts', '@agentjet/core/src/index.js'],
    ['a path into a package, from a test', 'test/e2e/run.test.ts', '../../packages/core/src/index.js'],
  ])('does not allow %s', (_what, file, specifier) => {
    expect(findWrongImport(file, specifier, rooms)).toContain(file);
  });

  it('reads tests, programs, the training of models, tutorials and benchmarks', () => {
    const folders = [
      '.ci/',
      'packages/cli/bin/',
      'test/bench/',
      'test/newest/',
      'test/models/',
      'trainer/torch/',
      'tutorial/',
    ];
    expect(folders.filter((folder) => !files.some((file) => file.startsWith(folder)))).toEqual([]);
    expect(files.filter((file) => file.endsWith('.test.ts')).length).toBeGreaterThan(100);
  });

  it('sees an import in each form that it can be written in', () => {
    const source = `
      import value from 'a'; import type { T } from 'b'; import 'c'; export { x } from 'd'; export * as all from 'e';
      const later = await import('f'); type U = import('g').U; const old = require('h');
      const worker = new Worker(new URL('./j.js', import.meta.url)); const page = new URL('./page.html', import.meta.url);
      const text = "import 'not-an-import'"; // import 'neither'
    `;
    expect(importsOf('example.ts', source).sort()).toEqual(['./j.js', ...'abcdefgh']);
  });

  it('imports each framework in exactly one package', () => {
    // Any package may import these. They read configuration, describe schemas or run tests; two of our servers use
    // hono, two of our clients ws, and two packages write protocol buffers.
    const tools = ['zod', 'yaml', 'vitest', 'fast-check'];
    const shared = new Set([...tools, 'hono', '@hono/node-server', 'ws', '@bufbuild/protobuf']);
    const owners = new Map<string, Set<string>>();
    for (const { dir } of packages) {
      for (const { specifier } of shippedBy(dir).filter(isForeign)) {
        const name = packageOf(specifier);
        if (!shared.has(name)) owners.set(name, (owners.get(name) ?? new Set()).add(dir));
      }
    }
    const several = [...owners]
      .filter(([, dirs]) => dirs.size > 1)
      .map(([name, dirs]) => `${name}: ${[...dirs].join(', ')}`);
    expect(several).toEqual([]);
  });

  it('declares what it imports', () => {
    const undeclared = packages.flatMap(({ dir, manifest }) => {
      const declared = new Set(
        [manifest.dependencies, manifest.peerDependencies, manifest.optionalDependencies].flatMap((names) =>
          Object.keys(names ?? {}),
        ),
      );
      return shippedBy(dir)
        .filter(({ specifier }) => !/^[.#]|^node:/.test(specifier) && !builtinModules.includes(specifier))
        .filter(({ file, specifier }) => !declared.has(packageOf(specifier)) && !isBundled(file, specifier, manifest))
        .map(({ file, specifier }) => `${file}: ${specifier}`);
    });
    expect(undeclared).toEqual([]);
  });
});
