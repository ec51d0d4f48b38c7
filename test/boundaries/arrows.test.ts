import { readdirSync, readFileSync } from 'node:fs';
import { builtinModules } from 'node:module';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { arrows } from '../../.ci/arrows.mjs';
import { root, workspaces } from '../../.ci/workspaces.mjs';

type Import = { readonly file: string; readonly specifier: string };

function sourceFiles(dir: string): string[] {
  return readdirSync(dir, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts') && !file.endsWith('.test.ts'))
    .map((file) => path.join(dir, file));
}

function importsOf(file: string): Import[] {
  const source = readFileSync(file, 'utf8');
  const found = source.matchAll(
    /(?:^|\n)\s*(?:import|export)\s[^;'"]*?from\s*'([^']+)'|import\(\s*'([^']+)'\s*\)|(?:^|\n)import\s*'([^']+)'/g,
  );
  return [...found].map((match) => ({
    file: path.relative(root, file),
    specifier: match[1] ?? match[2] ?? match[3] ?? '',
  }));
}

const isOurs = (specifier: string): boolean =>
  specifier === 'agentjet' || specifier.startsWith('@agentjet/') || specifier.startsWith('agentjet/');
const packageOf = (specifier: string): string =>
  specifier
    .split('/')
    .slice(0, specifier.startsWith('@') ? 2 : 1)
    .join('/');
const isForeign = ({ specifier }: Import): boolean =>
  !specifier.startsWith('.') &&
  !specifier.startsWith('node:') &&
  !isOurs(specifier) &&
  !builtinModules.includes(specifier);

const packages = workspaces();
const doors = new Set(packages.flatMap((each) => Object.keys(each.doors)));
const importsByPackage = new Map(
  packages.map(({ dir }) => [dir, sourceFiles(path.join(root, dir, 'src')).flatMap(importsOf)] as const),
);

describe('arrows', () => {
  it.each(packages)('$dir imports only what lies below it', ({ dir, name }) => {
    const below = arrows[name] ?? [];
    const upward = (importsByPackage.get(dir) ?? []).filter(
      ({ specifier }) => isOurs(specifier) && !below.includes(packageOf(specifier)),
    );
    expect(upward).toEqual([]);
  });

  it('goes through the doors of a package: the entries of its exports', () => {
    const deep = [...importsByPackage.values()]
      .flat()
      .filter(({ specifier }) => isOurs(specifier) && !doors.has(specifier));
    expect(deep).toEqual([]);
  });

  it('imports each framework in exactly one package', () => {
    // Contracts of configuration and zod schemas are vocabulary, not frameworks.
    const shared = new Set(['zod', 'yaml', 'vitest', 'fast-check']);
    const owners = new Map<string, Set<string>>();
    for (const [dir, imports] of importsByPackage) {
      for (const { specifier } of imports.filter(isForeign)) {
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
    const undeclared = [...importsByPackage].flatMap(([dir, imports]) => {
      const manifest = packages.find((each) => each.dir === dir)?.manifest;
      const declared = new Set(
        [manifest?.dependencies, manifest?.peerDependencies, manifest?.optionalDependencies].flatMap((names) =>
          Object.keys(names ?? {}),
        ),
      );
      return imports
        .filter((found) => (isForeign(found) || isOurs(found.specifier)) && !found.file.includes('testing'))
        .filter(({ specifier }) => !declared.has(packageOf(specifier)))
        .map(({ file, specifier }) => `${file}: ${specifier}`);
    });
    expect(undeclared).toEqual([]);
  });
});
