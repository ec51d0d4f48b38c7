/**
 * `npm run bench -- <name> [--json] [options]` runs test/bench/<name>/bench.ts and keeps its result in
 * results/<name>.json. `--help` prints the options of a benchmark. `--out <folder>` writes the measured parts into
 * another folder, for example on another machine. `--join <file>,<file>` measures nothing, and keeps the parts of such
 * files.
 */

import { existsSync, readdirSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import path from 'node:path';
import {
  type Bench,
  type BenchOptions,
  type BenchResult,
  describeOptions,
  type Measured,
  requireKnownOptions,
  textOption,
} from './bench.js';
import { joinParts, keepResult, readTree, writePart } from './keep-result.js';
import { type Noise, startNoiseProbe, TooBusyError, waitUntilQuiet } from './measure-noise.js';

const here = import.meta.dirname;

/** The exit code of sysexits.h for work that may succeed later. */
const exitCodeTooBusy = 75;

/** The wait is a minute, because other work on the machine may end soon. */
const patience = { attempts: 24, pauseMs: 2500 };

function benchNames(): string[] {
  return readdirSync(here).filter((name) => existsSync(path.join(here, name, 'bench.ts')));
}

async function loadBench(name: string | undefined): Promise<Bench> {
  if (name !== undefined && benchNames().includes(name)) return (await import(`./${name}/bench.ts`)) as Bench;
  const seen = name === undefined ? 'No benchmark was named' : `There is no benchmark "${name}"`;
  throw new Error(`${seen}. \`npm run bench -- <name> [--json]\` knows: ${benchNames().join(', ')}.`);
}

/**
 * The noise of the machine is measured before and after a benchmark of wall time. The benchmark can ask for more
 * measurements while it runs.
 */
async function runBench(
  { run, wallTimeOf }: Bench,
  options: Omit<BenchOptions, 'waitUntilQuiet'>,
): Promise<BenchResult & { readonly noise?: readonly Noise[] }> {
  const cores = typeof wallTimeOf === 'function' ? wallTimeOf(options.args) : wallTimeOf;
  if (cores === undefined) return run({ ...options, waitUntilQuiet: async () => undefined });
  const probe = await startNoiseProbe(cores === 'all cores' ? availableParallelism() : 1);
  const noise: Noise[] = [];
  const look = async (): Promise<void> => void noise.push(await waitUntilQuiet(probe, patience));
  try {
    options.report('measuring the noise of the machine');
    await look();
    const result = await run({ ...options, waitUntilQuiet: look });
    await look();
    return { ...result, noise };
  } finally {
    await probe.close();
  }
}

async function main(): Promise<void> {
  const [name = '', ...args] = process.argv.slice(2).filter((argument) => argument !== '--json');
  const isJson = process.argv.includes('--json');
  // With --json the standard output is for scripts, and its last line is the summary.
  const report = (line: string): void => (isJson ? console.error(line) : console.log(line));
  if (name === '--help') {
    report(
      `npm run bench -- <name> [options]\n\nThe benchmarks are ${benchNames().join(', ')}. \`<name> --help\` prints options.`,
    );
    return;
  }
  const bench = await loadBench(name === '' ? undefined : name);
  if (args.includes('--help')) {
    report(describeOptions(name, bench.optionTexts));
    return;
  }
  requireKnownOptions(name, args, bench.optionTexts);
  const results = path.join(here, 'results');
  const files = textOption(args, '--join')?.split(',');
  if (files !== undefined) {
    report(`Kept in ${path.relative(process.cwd(), joinParts(results, { name, files }, bench.joinValues))}.`);
    return;
  }
  const tree = readTree(here);
  const out = textOption(args, '--out');
  const keep = (result: BenchResult): string | undefined => {
    if (tree.commit === null) return undefined;
    const named = { name, commit: tree.commit };
    return out === undefined ? keepResult(results, named, result) : writePart(out, named, result);
  };
  const keepPart = (part: Measured): void => {
    if (out !== undefined || existsSync(path.join(results, `${name}.json`))) keep({ ...part, isPart: true });
  };
  const { noise, ...measured } = await runBench(bench, { report, args, keepPart });
  const details = noise === undefined ? measured.details : { ...measured.details, noise: worst(noise) };
  const result = { ...measured, details };
  const file = keep(result);
  if (file === undefined) report(`Not kept: ${tree.problem}.`);
  else if (out !== undefined) report(`Written to ${file}.`);
  else report(`Kept in ${path.relative(process.cwd(), file)}. \`npm run figures\` brings it to the pages.`);
  if (isJson) console.log(JSON.stringify(result.summary));
}

function worst(noise: readonly Noise[]): Noise | undefined {
  return noise.toSorted((left, right) => left.share - right.share)[0];
}

try {
  await main();
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = error instanceof TooBusyError ? exitCodeTooBusy : 1;
  if (error instanceof TooBusyError && process.argv.includes('--json'))
    console.log(JSON.stringify({ too_busy: true, reason: error.reason }));
}
