import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { loadavg, tmpdir } from 'node:os';
import path from 'node:path';
import { toErrorMessage } from '@agentjet/core';
import { type BenchOptions, type BenchResult, textOption, type OptionTexts } from '../bench.js';
import { run as benchAtif } from '../atif/bench.js';
import { readTree } from '../keep-result.js';
import { runCommand } from '../first-hour/run-command.js';
import { sizeOf } from '../first-hour/try-framework.js';
import { openPlace, type DoorProject } from './door-project.js';
import { readKeptTables } from './kept-tables.js';
import { packedOverrides } from './packed-overrides.js';
import { projects } from './projects.js';
import { tryAdapters } from './try-adapters.js';

/**
 * Do our packages work in the projects that people have? Each project is made in an empty folder, gets the tarballs of
 * this commit, and is checked, installed, bundled or tested as its users would do it. `--only <name>,<name>` runs those
 * whose name has one of these parts, and keeps the outcomes of the others at the same commit, so that a result can be
 * joined from several calls. `adapters`, `atif` and `install_mb` are names too: the contract suite and random
 * conversations for each adapter, the documents of the benchmark `atif`, and the size of `npm install agentjet`.
 * `--packed <folder>` takes tarballs that exist. The frameworks and harnesses come from the kept results of the nightly
 * jobs `frameworks` and `programs`.
 */

const root = path.resolve(import.meta.dirname, '../../..');

export const optionTexts: OptionTexts = {
  '--only <part>,...': 'tries the projects whose names contain one of these',
  '--packed <folder>': 'uses tarballs that `npm run pack:all` made',
};

export async function run({ report, args }: BenchOptions): Promise<BenchResult> {
  const only = textOption(args, '--only');
  const isChosen = toChoice(only);
  const folder = mkdtempSync(path.join(tmpdir(), 'doors-'));
  try {
    const packed = textOption(args, '--packed') ?? (await pack(path.join(folder, 'packed')));
    const earlier = only === undefined ? nothing : keptAtThisCommit();
    const outcomes: Record<string, string> = { ...earlier.projects };
    const loads: Record<string, number> = { ...earlier.loads };
    for (const project of projects.filter(({ name }) => isChosen(name))) {
      const outcome = await tryProject(project, path.join(folder, 'project'), packed);
      outcomes[project.name] = outcome;
      loads[project.name] = Math.round((loadavg()[0] ?? 0) * 10) / 10;
      report(`${project.name}: ${outcome}`);
    }
    const others: Record<string, unknown> = {};
    for (const [name, measure] of Object.entries(otherParts)) {
      const value = isChosen(name) ? await measure({ dir: path.join(folder, name), packed }) : earlier.others[name];
      if (value === undefined) continue;
      others[name] = value;
      report(`${name}: ${JSON.stringify(value)}`);
    }
    const tables = readKeptTables(path.join(root, 'test/nightly/results'));
    return { summary: { ...tables, projects: outcomes, ...others }, details: { loads } };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

type PartOptions = { readonly dir: string; readonly packed: string };

/** The parts of the result that are not projects. */
const otherParts: Readonly<Record<string, (options: PartOptions) => Promise<unknown>>> = {
  adapters: tryAdapters,
  atif: async () => (await benchAtif({ report: () => {} })).summary,
  install_mb: installedMegabytes,
};

/** Returns whether a name is chosen. Throws if `only` has a part that no name has. */
function toChoice(only: string | undefined): (name: string) => boolean {
  if (only === undefined) return () => true;
  const names = [...projects.map(({ name }) => name), ...Object.keys(otherParts)];
  const parts = only.split(',');
  const strange = parts.find((part) => part === '' || !names.some((name) => name.includes(part)));
  if (strange !== undefined)
    throw new Error(`--only names ${JSON.stringify(strange)}. There are: ${names.join(', ')}.`);
  return (name) => parts.some((part) => name.includes(part));
}

type Kept = {
  readonly projects: Readonly<Record<string, string>>;
  readonly loads: Readonly<Record<string, number>>;
  readonly others: Readonly<Record<string, unknown>>;
};
const nothing: Kept = { projects: {}, loads: {}, others: {} };

function keptAtThisCommit(): Kept {
  const file = path.join(root, 'test/bench/results/doors.json');
  if (!existsSync(file)) return nothing;
  const {
    commit,
    projects: kept,
    loads,
    ...others
  } = JSON.parse(readFileSync(file, 'utf8')) as Omit<Kept, 'others'> & {
    readonly commit: string;
  };
  return commit === readTree(root).commit ? { projects: kept, loads, others } : nothing;
}

async function pack(packed: string): Promise<string> {
  await runCommand(`node "${path.join(root, '.ci/pack-all.mjs')}" "${packed}"`, { cwd: root });
  return packed;
}

/** Returns "ok" or the message. The folder is removed, because some projects have a gigabyte of packages. */
async function tryProject(project: DoorProject, dir: string, packed: string): Promise<string> {
  try {
    await project.run(openPlace(dir, packed));
    return 'ok';
  } catch (error) {
    return toErrorMessage(error).slice(0, 4000);
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}

/** Returns the megabytes that `npm install agentjet` brings. Throws if the embedded backbone is among them. */
async function installedMegabytes({ dir, packed }: PartOptions): Promise<number> {
  mkdirSync(dir, { recursive: true });
  const place = openPlace(dir, packed);
  const overrides = packedOverrides(packed);
  place.write({
    'package.json': { name: 'small', private: true, dependencies: { agentjet: overrides['agentjet'] }, overrides },
  });
  await place.sh('npm install --ignore-scripts --no-audit --no-fund');
  const installed = readFileSync(path.join(dir, 'package-lock.json'), 'utf8');
  if (installed.includes('onnxruntime')) throw new Error('`npm install agentjet` installs onnxruntime.');
  return Math.round(sizeOf(path.join(dir, 'node_modules')) / 1e5) / 10;
}
