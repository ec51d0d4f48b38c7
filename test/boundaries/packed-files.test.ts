import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import { root, workspaces } from '../../.ci/workspaces.mjs';

const trainerDir = path.join(root, 'trainer');

function packedFiles(dir: string, ...flags: readonly string[]): readonly string[] {
  const text = execFileSync('npm', ['pack', '--dry-run', '--json', ...flags], {
    cwd: dir,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
    shell: process.platform === 'win32',
  });
  const listed = JSON.parse(text.slice(text.search(/^[[{]/m))) as unknown; // scripts print before it
  const [report] = (Array.isArray(listed) ? listed : Object.values(listed as object)) as readonly {
    readonly files: readonly { readonly path: string }[];
  }[];
  return report?.files.map((file) => file.path) ?? [];
}

it('an installed trainer has both Python workers and what sets them up, and no environment of ours', () => {
  const packed = packedFiles(trainerDir, '--ignore-scripts');
  const sourcesIn = (folder: string) =>
    readdirSync(path.join(trainerDir, folder), { recursive: true, encoding: 'utf8' })
      .filter((file) => file.endsWith('.py'))
      .map((file) => `${folder}/${file.replaceAll(path.sep, '/')}`);
  const worker = sourcesIn('torch/ajet_torch');
  expect(worker.length).toBeGreaterThan(20);
  const filesOf = (folder: string) => ['setup.mjs', 'requirements.txt', 'README.md'].map((file) => `${folder}/${file}`);
  expect(packed).toEqual(
    expect.arrayContaining([
      ...worker,
      ...sourcesIn('verl/ajet_verl'),
      ...filesOf('torch'),
      ...filesOf('verl'),
      'make-environment.mjs',
    ]),
  );
  expect(
    packed.filter((file) => /\.venv|__pycache__|torch\/(tests|bench)\/|\.test\.ts$|\.tsbuildinfo$/.test(file)),
  ).toEqual([]);
});

it.each(workspaces())('$dir says what a published package says', ({ dir, manifest }) => {
  expect(manifest).toMatchObject({
    version: '0.1.0',
    license: 'Apache-2.0',
    type: 'module',
    engines: { node: '>=20.19' },
    exports: { '.': { types: './dist/index.d.ts', default: './dist/index.js' } },
    // The older way of resolving, `moduleResolution: node`, does not read "exports".
    main: './dist/index.js',
    types: './dist/index.d.ts',
  });
  expect(manifest.description).toMatch(/^[A-Z].*\.$/);
  expect(manifest.files).toEqual(
    expect.arrayContaining(['dist', 'src', '!**/*.test.ts', '!**/.tsbuildinfo', 'README.md']),
  );
  const upwards = path.posix.relative(dir, '.ci/copy-license.mjs');
  const build = dir === 'packages/studio' ? 'tsc -b && node page/build.mjs' : 'tsc -b';
  // `agentjet` also brings the pages and the skills, so that an assistant reads those of its version.
  const docs = dir === 'packages/agentjet' ? ' --docs' : '';
  const commonjs = dir.startsWith('adapters/') ? ' && node ../../.ci/commonjs-types.mjs' : '';
  expect(manifest.scripts).toEqual({ build, prepack: `${build}${commonjs} && node ${upwards}${docs}` });
});

it.each(workspaces().filter(({ dir }) => dir.startsWith('adapters/')))(
  '$dir has declarations for users whose files are CommonJS',
  ({ manifest }) => {
    expect(manifest.exports['.']).toMatchObject({
      require: { types: './dist/commonjs/index.d.ts', default: './dist/index.js' },
    });
  },
);

it.each(workspaces())('$dir names its entry points for the older way of resolving', ({ manifest }) => {
  const doors = Object.entries(manifest.exports).filter(([door, to]) => door !== '.' && typeof to === 'object');
  const typesOf = (to: unknown): unknown => (to as { readonly types: string }).types;
  const expected = doors.map(([door, to]) => [door.slice(2), [typesOf(to)]]);
  const { typesVersions = { '*': {} } } = manifest as { readonly typesVersions?: { readonly '*': object } };
  expect(typesVersions).toEqual({ '*': Object.fromEntries(expected) });
});

it('a package is built and has its license before it is packed', () => {
  expect(packedFiles(path.join(root, 'packages/nano'))).toEqual(
    expect.arrayContaining(['LICENSE', 'README.md', 'dist/index.js', 'dist/index.d.ts', 'model/model.safetensors']),
  );
});

it('a command lies in the repository itself, so that npm links it before anything is built', () => {
  const cliDir = path.join(root, 'packages/cli');
  const { bin, files } = JSON.parse(readFileSync(path.join(cliDir, 'package.json'), 'utf8')) as {
    readonly bin: Readonly<Record<string, string>>;
    readonly files: readonly string[];
  };
  const [folder = '', ...rest] = path.normalize(bin['ajet'] ?? '').split(path.sep);
  expect(existsSync(path.join(cliDir, folder, ...rest))).toBe(true);
  expect(folder).not.toBe('dist');
  expect(files).toContain(folder);
});
