import { readdirSync, readFileSync } from 'node:fs';
import { builtinModules } from 'node:module';
import path from 'node:path';
import { describe, expect, it } from 'vitest';

const root = path.resolve(import.meta.dirname, '../..');

/** What each package may import of ours: the arrows of the architecture, as data. */
const allowed: Readonly<Record<string, readonly string[]>> = {
  'packages/core': [],
  'packages/run-folder': ['@agentjet/core'],
  'packages/nano': [],
  'packages/tokenizer': ['@agentjet/core'],
  'packages/context-tracker': ['@agentjet/core', '@agentjet/tokenizer'],
  'packages/rollout': ['@agentjet/core', '@agentjet/tokenizer', '@agentjet/context-tracker'],
  'packages/chat-completions': ['@agentjet/core'],
  'packages/endpoint': ['@agentjet/core', '@agentjet/rollout', '@agentjet/chat-completions'],
  'packages/adapter-kit': ['@agentjet/core', '@agentjet/rollout'],
  'packages/agentjet': [
    '@agentjet/core',
    '@agentjet/run-folder',
    '@agentjet/tokenizer',
    '@agentjet/context-tracker',
    '@agentjet/nano',
    '@agentjet/rollout',
    '@agentjet/endpoint',
    '@agentjet/trainer',
  ],
  'packages/cli': ['@agentjet/core', 'agentjet'],
  'adapters/react': ['@agentjet/core', '@agentjet/rollout'],
  'adapters/openai': ['@agentjet/core', '@agentjet/rollout', '@agentjet/chat-completions'],
  'adapters/langgraph': ['@agentjet/core', '@agentjet/rollout'],
  'adapters/ai-sdk': ['@agentjet/core', '@agentjet/rollout'],
  'adapters/openai-agents': ['@agentjet/core', '@agentjet/rollout'],
  trainer: ['@agentjet/core', '@agentjet/run-folder'],
};

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

const importsByPackage = new Map(
  Object.keys(allowed).map((dir) => [dir, sourceFiles(path.join(root, dir, 'src')).flatMap(importsOf)] as const),
);

describe('arrows', () => {
  it.each(Object.entries(allowed))('%s imports only what lies below it', (dir, below) => {
    const upward = (importsByPackage.get(dir) ?? []).filter(
      ({ specifier }) => isOurs(specifier) && !below.includes(packageOf(specifier)),
    );
    expect(upward).toEqual([]);
  });

  it('goes through the doors of a package, index or testing', () => {
    const deep = [...importsByPackage.values()]
      .flat()
      .filter(({ specifier }) => isOurs(specifier) && !/^(@agentjet\/)?[^/]+(\/testing)?$/.test(specifier));
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
      const manifest = JSON.parse(readFileSync(path.join(root, dir, 'package.json'), 'utf8')) as Record<
        string,
        Record<string, string> | undefined
      >;
      const declared = new Set(
        ['dependencies', 'peerDependencies', 'optionalDependencies'].flatMap((kind) =>
          Object.keys(manifest[kind] ?? {}),
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
