import { execFileSync, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { root, withAllTheyUse } from '../../.ci/workspaces.mjs';

/**
 * A project like that of a user of one framework: the framework from the registry in the pinned version, and our
 * packages from their tarballs, which npm installs with the versions of their peers. It runs under the newest Node.
 */

const here = import.meta.dirname;
const cases = path.join(here, 'cases');
const place = path.join(tmpdir(), `agentjet-frameworks-${createHash('sha256').update(root).digest('hex').slice(0, 8)}`);
const packed = path.join(place, 'packed');
const npm = process.platform === 'win32' ? 'npm.cmd' : 'npm';
const npmOptions = ['--no-audit', '--no-fund', '--loglevel=error', '--fetch-retries=1', '--fetch-timeout=60000'];
const longestInstallMs = 8 * 60_000;
const longestRunMs = 5 * 60_000;
const nodeVersion = '24.21.0';

export const frameworkNames: readonly string[] = readdirSync(cases).toSorted();

type Manifest = {
  readonly dependencies: Readonly<Record<string, string>>;
  /** npm runs the install scripts of these packages only. */
  readonly allowScripts?: Readonly<Record<string, boolean>>;
};

const readManifest = (name: string): Manifest =>
  JSON.parse(readFileSync(path.join(cases, name, 'package.json'), 'utf8')) as Manifest;

/** The framework is the first package of a case. */
export function frameworkOf(name: string): { readonly package: string; readonly version: string } {
  const [first = ['', '']] = Object.entries(readManifest(name).dependencies);
  return { package: first[0], version: first[1] };
}

/** Returns our packages that a case imports, with the ones that they use, lowest first. */
function oursOf(name: string) {
  const files = ['check.mjs', 'langgraph.mjs'].map((file) => path.join(here, 'in-project', file));
  const text = [...files, path.join(cases, name, 'case.mjs')].map((file) => readFileSync(file, 'utf8')).join('\n');
  return withAllTheyUse([...new Set([...text.matchAll(/'(@agentjet\/[\w-]+)'/g)].map(([, found = '']) => found))]);
}

function runNpm(args: readonly string[], cwd: string): string {
  return execFileSync(npm, [...args, ...npmOptions], {
    cwd,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
    shell: process.platform === 'win32',
    timeout: longestInstallMs,
    maxBuffer: 1 << 28,
  });
}

/** Builds and packs our packages that these cases use. */
export function packOurs(names: readonly string[]): void {
  const dirs = [...new Set(names.flatMap((name) => oursOf(name).map(({ dir }) => dir)))];
  const tsc = path.join(root, 'node_modules/typescript/bin/tsc');
  execFileSync(process.execPath, [tsc, '-b', ...dirs], { cwd: root, stdio: 'inherit' });
  rmSync(packed, { recursive: true, force: true });
  mkdirSync(packed, { recursive: true });
  runNpm(['pack', '--ignore-scripts', '--pack-destination', packed, ...dirs.map((dir) => `./${dir}`)], root);
}

const tarballOf = (name: string): string => {
  const prefix = name.replace('@', '').replace('/', '-');
  const found = readdirSync(packed).find((file) => new RegExp(`^${prefix}-\\d`).test(file));
  if (found === undefined) throw new Error(`${name} was not packed.`);
  return path.join(packed, found);
};

function installNode(): string {
  const dir = path.join(place, 'node');
  const bin = path.join(dir, 'node_modules/node/bin');
  if (existsSync(bin)) return bin;
  mkdirSync(dir, { recursive: true });
  const manifest = { private: true, dependencies: { node: nodeVersion }, allowScripts: { node: true } };
  writeFileSync(path.join(dir, 'package.json'), JSON.stringify(manifest));
  runNpm(['install', '--ignore-scripts=false'], dir);
  return bin;
}

/** Installs the framework and our packages, once for each list of versions. Throws an error with npm's message. */
export function install(name: string): { readonly dir: string; readonly nodeBin: string } {
  const nodeBin = installNode();
  const dir = path.join(place, name);
  const ours = oursOf(name);
  const files = Object.fromEntries(ours.map((each) => [each.name, `file:${tarballOf(each.name)}`]));
  const manifest = readManifest(name);
  const wanted = JSON.stringify({
    ...manifest,
    dependencies: { ...manifest.dependencies, ...files },
    ours: ours.map(({ manifest: { dependencies, peerDependencies } }) => ({ dependencies, peerDependencies })),
  });
  const stamp = path.join(dir, '.installed');
  if (!existsSync(stamp) || readFileSync(stamp, 'utf8') !== wanted) {
    rmSync(dir, { recursive: true, force: true });
    mkdirSync(dir, { recursive: true });
    writeFileSync(path.join(dir, 'package.json'), wanted);
    runNpm(['install', '--no-package-lock', `--ignore-scripts=${manifest.allowScripts === undefined}`], dir);
    writeFileSync(stamp, wanted);
  }
  for (const each of ours) unpack(each.name, dir);
  for (const from of [path.join(here, 'in-project'), path.join(cases, name)])
    cpSync(from, dir, { recursive: true, filter: (file) => !file.endsWith('package.json') });
  return { dir, nodeBin };
}

/** Replaces one of our packages by its newest tarball. */
function unpack(name: string, dir: string): void {
  const target = path.join(dir, 'node_modules', name);
  for (const each of readdirSync(target))
    if (each !== 'node_modules') rmSync(path.join(target, each), { recursive: true });
  execFileSync('tar', ['-xzf', tarballOf(name), '--strip-components=1', '-C', target]);
}

/** Runs the case of an installed project. Returns what is wrong with it. */
export function runCase({ dir, nodeBin }: ReturnType<typeof install>): readonly string[] {
  const outcomeFile = path.join(dir, 'outcome.json');
  rmSync(outcomeFile, { force: true });
  const { error, status, signal, stdout, stderr } = spawnSync(
    path.join(nodeBin, process.platform === 'win32' ? 'node.exe' : 'node'),
    ['run-case.mjs', outcomeFile],
    {
      cwd: dir,
      encoding: 'utf8',
      timeout: longestRunMs,
      maxBuffer: 1 << 28,
      env: { ...process.env, NODE_OPTIONS: '', PATH: `${nodeBin}${path.delimiter}${process.env['PATH']}`, HOME: dir },
    },
  );
  if (existsSync(outcomeFile))
    return (JSON.parse(readFileSync(outcomeFile, 'utf8')) as { readonly complaints: readonly string[] }).complaints;
  return [`the case ended with ${error?.message ?? signal ?? status}: ${`${stdout}\n${stderr}`.trim().slice(-3000)}`];
}
