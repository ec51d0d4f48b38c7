import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import type { BenchResult, Measured } from './bench.js';
import { describeMachine } from './describe-machine.js';

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

/**
 * Writes `<folder>/<name>.json`. A partial result changes only its own keys, and `parts` says when, at which commit and
 * on which machine each part was measured, and with which details.
 */
export function keepResult(
  folder: string,
  { kind = 'bench', name, commit }: { readonly kind?: 'bench' | 'job'; readonly name: string; readonly commit: string },
  { summary, details, isPart = false }: BenchResult,
): string {
  const file = path.join(folder, `${name}.json`);
  const run = describeRun(commit);
  if (isPart) return write(file, withPart(readRecord(file), summary, { ...run, details }));
  return write(file, { [kind]: name, ...run, ...details, ...summary });
}

/**
 * Writes a partial result to `<folder>/<name>.json`, for a later `joinParts`. The folder is outside of the kept results,
 * for example on another machine. Parts that the file has from the same commit stay.
 */
export function writePart(
  folder: string,
  { name, commit }: { readonly name: string; readonly commit: string },
  { summary, details }: Measured,
): string {
  const file = path.join(folder, `${name}.json`);
  const earlier = existsSync(file) ? readRecord(file) : {};
  const isSame = partsOf(earlier).every(({ runs }) => runs.every((run) => run['commit'] === commit));
  const run = { ...describeRun(commit), details };
  return write(file, withPart({ ...(isSame && earlier), bench: name }, summary, run));
}

const partsOf = (record: Fields): readonly { readonly part: string; readonly runs: readonly Fields[] }[] =>
  Object.entries((record['parts'] ?? {}) as Readonly<Record<string, Fields | readonly Fields[]>>).map(
    ([part, runs]) => ({ part, runs: [runs].flat() }),
  );

/**
 * Puts the parts of these files into `<folder>/<name>.json`. `joinValues` joins the values of a part that several files
 * have. Such a part has a list of its runs, in the order of the files. Throws Error if the files are of another
 * benchmark or of different commits.
 */
export function joinParts(
  folder: string,
  { name, files }: { readonly name: string; readonly files: readonly string[] },
  joinValues?: (part: string, values: readonly unknown[]) => unknown,
): string {
  const records = files.map(readRecord);
  const strange = records.findIndex((record) => record['bench'] !== name);
  if (strange >= 0) throw new Error(`${files[strange]} is not a result of the benchmark ${name}.`);
  const all = records.flatMap((record) =>
    partsOf(record).map(({ part, runs }) => ({ part, runs, value: record[part] })),
  );
  const commits = new Set(all.flatMap(({ runs }) => runs.map((run) => run['commit'])));
  if (commits.size > 1) throw new Error(`The files have results of several commits: ${[...commits].join(', ')}.`);
  const file = path.join(folder, `${name}.json`);
  let joined: Fields = existsSync(file) ? readRecord(file) : { bench: name };
  for (const part of new Set(all.map((each) => each.part))) {
    const same = all.filter((each) => each.part === part);
    const values = same.map(({ value }) => value);
    if (values.length > 1 && joinValues === undefined)
      throw new Error(`Several files have the part ${part}, and the benchmark ${name} cannot join them.`);
    const value = values.length === 1 ? values[0] : joinValues?.(part, values);
    const runs = same.flatMap((each) => each.runs);
    joined = withPart(joined, { [part]: value }, runs.length === 1 ? (runs[0] ?? {}) : runs);
  }
  return write(file, joined);
}

function write(file: string, record: Fields): string {
  mkdirSync(path.dirname(file), { recursive: true });
  writeFileSync(file, `${JSON.stringify(record, null, 2)}\n`);
  return file;
}

const describeRun = (commit: string): Fields => ({
  date: new Date().toISOString(),
  commit,
  machine: describeMachine(),
});

type Fields = { readonly [key: string]: unknown };

function readRecord(file: string): Fields {
  if (existsSync(file)) return JSON.parse(readFileSync(file, 'utf8')) as Fields;
  throw new Error(`${file} does not exist, so no part of it can be replaced. Run the whole benchmark first.`);
}

function withPart(record: Fields, summary: Fields, run: Fields | readonly Fields[]): Fields {
  const parts = Object.fromEntries(Object.keys(summary).map((key) => [key, run]));
  return {
    ...record,
    ...summary,
    ...(Array.isArray(record['missing']) && {
      missing: record['missing'].filter((key) => !isIn(summary, String(key))),
    }),
    parts: { ...(record['parts'] as Fields | undefined), ...parts },
  };
}

/** `key` is `bfcl` or, for a part of it, `bfcl.simple`. */
const isIn = (summary: Fields, key: string): boolean => (key.split('.')[0] ?? '') in summary;
