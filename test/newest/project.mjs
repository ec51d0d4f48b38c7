/**
 * Makes a project like that of a user. It has the newest majors of the frameworks and Node 24 from the npm registry
 * (package.json and its lock are next to this file), our packages as they are published, and the tests that must pass
 * with both.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { withAllTheyUse, workspaces } from '../../.ci/workspaces.mjs';

const here = import.meta.dirname;
const root = path.resolve(here, '../..');
const dir = path.join(tmpdir(), `agentjet-newest-${createHash('sha256').update(root).digest('hex').slice(0, 8)}`);
export const ours = withAllTheyUse(
  workspaces()
    .filter(
      ({ dir, name }) => dir.startsWith('adapters/') || ['@agentjet/endpoint', '@agentjet/adapter-kit'].includes(name),
    )
    .map(({ name }) => name),
).map((each) => each.dir);
/** Files and folders that are copied unchanged. The imports between them are relative, so they work in the copy. */
export const suites = [
  'test/adapters',
  'test/bench/bench.ts',
  'test/long-tests.ts',
  'test/bench/fidelity',
  ...['http-drivers.ts', 'cutting-proxy.ts', 'contract.test.ts', 'episode.test.ts'].map(
    (name) => `test/endpoint/${name}`,
  ),
  'packages/chat-completions/src',
  'packages/endpoint/src',
  ...ours.filter((name) => name.startsWith('adapters/')).map((name) => `${name}/src`),
];

const read = (file) => readFileSync(file, 'utf8');
const npmOptions = ['--no-audit', '--no-fund', '--loglevel=error', '--fetch-retries=1', '--fetch-timeout=60000'];

/** The time limit of an install. Without npm's cache it downloads a quarter of a gigabyte. */
const longestInstallMs = 8 * 60_000;

function npm(args, cwd) {
  const isWindows = process.platform === 'win32';
  return execFileSync(isWindows ? 'npm.cmd' : 'npm', [...args, ...npmOptions], {
    cwd,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
    shell: isWindows,
    timeout: longestInstallMs,
    maxBuffer: 1 << 28,
  });
}

/**
 * Installs the versions of the lock, once. Throws an error with npm's message. It takes minutes if npm's cache is
 * empty.
 */
export function install() {
  const stamp = path.join(dir, '.installed');
  const wanted = createHash('sha256')
    .update(read(path.join(here, 'package.json')))
    .update(read(path.join(here, 'package-lock.json')))
    .digest('hex');
  if (existsSync(stamp) && read(stamp) === wanted) return;
  rmSync(dir, { recursive: true, force: true });
  mkdirSync(dir, { recursive: true });
  for (const file of ['package.json', 'package-lock.json']) cpSync(path.join(here, file), path.join(dir, file));
  npm(['ci', '--ignore-scripts=false'], dir);
  writeFileSync(stamp, wanted);
}

/** Puts our packages and the suites into the installed project. Returns its folder, and the Node that runs it. */
export function fill() {
  execFileSync(process.execPath, [path.join(root, 'node_modules/typescript/bin/tsc'), '-b', ...ours], {
    cwd: root,
    stdio: 'inherit',
  });
  putOurPackages();
  for (const name of ['adapters', 'packages', 'test', 'newest'])
    rmSync(path.join(dir, name), { recursive: true, force: true });
  for (const name of suites) cpSync(path.join(root, name), path.join(dir, name), { recursive: true });
  cpSync(here, path.join(dir, 'newest'), {
    recursive: true,
    filter: (file) => file === here || file.endsWith('.test.mjs'),
  });
  return { dir, node: path.join(dir, 'node_modules/node/bin', process.platform === 'win32' ? 'node.exe' : 'node') };
}

function putOurPackages() {
  const packed = path.join(dir, 'packed');
  for (const name of [packed, path.join(dir, 'node_modules/@agentjet')]) {
    rmSync(name, { recursive: true, force: true });
    mkdirSync(name, { recursive: true });
  }
  npm(['pack', '--pack-destination', packed, ...ours.map((name) => `./${name}`)], root);
  for (const file of readdirSync(packed)) {
    const target = path.join(dir, 'node_modules/@agentjet', file.replace(/^agentjet-(.*)-\d+\.\d+\.\d+\.tgz$/, '$1'));
    mkdirSync(target);
    execFileSync('tar', ['-xzf', path.join(packed, file), '--strip-components=1', '-C', target]);
  }
}

/** Returns what npm finds wrong with the versions, such as a framework outside of an adapter's peer range. */
export function findVersionProblems() {
  const manifest = JSON.parse(read(path.join(here, 'package.json')));
  const own = Object.fromEntries(
    ours
      .map((name) => JSON.parse(read(path.join(root, name, 'package.json'))))
      .map(({ name, version }) => [name, version]),
  );
  writeFileSync(
    path.join(dir, 'package.json'),
    JSON.stringify({ ...manifest, dependencies: { ...manifest.dependencies, ...own } }, null, 2),
  );
  rmSync(path.join(dir, 'node_modules/.package-lock.json'), { force: true });
  const { stdout } = spawnSync(process.platform === 'win32' ? 'npm.cmd' : 'npm', ['ls', '--json', '--all'], {
    cwd: dir,
    encoding: 'utf8',
    shell: process.platform === 'win32',
    maxBuffer: 1 << 28,
  });
  const { problems = [] } = JSON.parse(stdout);
  return problems.filter(
    (problem) => problem.includes('@agentjet/') || Object.keys(own).some((name) => problem.includes(name)),
  );
}

/** Returns what the compiler says of our sources and tests with the types of the newest frameworks. */
export function findTypeProblems() {
  const types = path.join(root, 'node_modules/@types');
  const compilerOptions = {
    composite: false,
    declaration: false,
    declarationMap: false,
    sourceMap: false,
    noEmit: true,
    allowImportingTsExtensions: true,
    typeRoots: [types],
  };
  writeFileSync(
    path.join(dir, 'tsconfig.json'),
    JSON.stringify({
      extends: path.join(root, 'tsconfig.base.json'),
      compilerOptions,
      include: ['adapters', 'packages', 'test'],
    }),
  );
  const { status, stdout } = spawnSync(
    process.execPath,
    [path.join(root, 'node_modules/typescript/bin/tsc'), '-p', dir],
    { encoding: 'utf8' },
  );
  return status === 0 ? [] : stdout.trim().split('\n');
}
