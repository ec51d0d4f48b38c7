import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { availableParallelism, cpus, totalmem } from 'node:os';
import path from 'node:path';
import type { BenchResult } from './bench.js';

/**
 * A result is kept with the commit at which it was measured. If the files differ from those of the commit, the result
 * is printed but not kept. Kept results do not count as changes, so benchmarks can run one after another.
 */
export type Tree =
  | { readonly commit: string; readonly problem?: undefined }
  | { readonly commit: null; readonly problem: string };

const keptResults = [
  ':!test/bench/results',
  ':!trainer/torch/bench/results',
  ':!test/nightly/results',
  ':!test/releases/results',
  ':!test/releases/RELEASES.md',
  ':!test/releases/mutants/results',
];

export function readTree(folder: string): Tree {
  const git = (...args: readonly string[]): string =>
    execFileSync('git', args, { cwd: folder, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim();
  try {
    const root = git('rev-parse', '--show-toplevel');
    const changed = git('-C', root, 'status', '--porcelain', '--', '.', ...keptResults)
      .split('\n')
      .filter(Boolean);
    if (changed.length === 0) return { commit: git('rev-parse', '--short=12', 'HEAD') };
    const files = changed.slice(0, 3).map((line) => line.trim().replace(/^\S+\s+/, ''));
    const rest = changed.length > files.length ? ` and ${changed.length - files.length} more` : '';
    return {
      commit: null,
      problem: `the working tree differs from its commit (${files.join(', ')}${rest}); commit first`,
    };
  } catch {
    return { commit: null, problem: 'this folder is not in a git repository, so the result has no commit' };
  }
}

function machine(): { readonly [key: string]: unknown } {
  return {
    cpu: cpus()[0]?.model.trim(),
    cores: availableParallelism(),
    memory_gib: Math.round(totalmem() / 2 ** 30),
    node: process.version,
    platform: `${process.platform}-${process.arch}`,
  };
}

/**
 * Writes `<folder>/<name>.json`. A partial result changes only its own keys, and `parts` says when and at which commit
 * each part was measured.
 */
export function keepResult(
  folder: string,
  { kind = 'bench', name, commit }: { readonly kind?: 'bench' | 'job'; readonly name: string; readonly commit: string },
  { summary, details, isPart = false }: BenchResult,
): string {
  const file = path.join(folder, `${name}.json`);
  const run = { date: new Date().toISOString(), commit, machine: machine() };
  const record = isPart ? withPart(readRecord(file), summary, run) : { [kind]: name, ...run, ...details, ...summary };
  mkdirSync(folder, { recursive: true });
  writeFileSync(file, `${JSON.stringify(record, null, 2)}\n`);
  return file;
}

type Fields = { readonly [key: string]: unknown };

function readRecord(file: string): Fields {
  if (existsSync(file)) return JSON.parse(readFileSync(file, 'utf8')) as Fields;
  throw new Error(`${file} does not exist, so no part of it can be replaced. Run the whole benchmark first.`);
}

function withPart(record: Fields, summary: Fields, run: Fields): Fields {
  const parts = Object.fromEntries(Object.keys(summary).map((key) => [key, run]));
  return { ...record, ...summary, parts: { ...(record['parts'] as Fields | undefined), ...parts } };
}
