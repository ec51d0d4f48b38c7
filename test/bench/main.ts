/** `npm run bench -- <name> [--json] [options]`: runs test/bench/<name>/bench.ts and keeps its result in results/<name>.json. */

import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { availableParallelism, cpus, totalmem } from 'node:os';
import path from 'node:path';
import type { Bench, BenchResult } from './bench.js';

const here = import.meta.dirname;

function benchNames(): string[] {
  return readdirSync(here).filter((name) => existsSync(path.join(here, name, 'bench.ts')));
}

async function loadBench(name: string | undefined): Promise<Bench> {
  if (name !== undefined && benchNames().includes(name)) return (await import(`./${name}/bench.ts`)) as Bench;
  const seen = name === undefined ? 'No benchmark was named' : `There is no benchmark "${name}"`;
  throw new Error(`${seen}. \`npm run bench -- <name> [--json]\` knows: ${benchNames().join(', ')}.`);
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

/** The commit, with a mark where the tree differs from it; null outside a repository. */
function commit(): string | null {
  try {
    return execFileSync('git', ['describe', '--always', '--dirty', '--abbrev=12'], {
      cwd: here,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    }).trim();
  } catch {
    return null;
  }
}

function keep(name: string, { summary, details }: BenchResult): void {
  const record = {
    bench: name,
    date: new Date().toISOString(),
    commit: commit(),
    machine: machine(),
    ...summary,
    ...details,
  };
  mkdirSync(path.join(here, 'results'), { recursive: true });
  writeFileSync(path.join(here, 'results', `${name}.json`), `${JSON.stringify(record, null, 2)}\n`);
}

async function main(): Promise<void> {
  const [name, ...rest] = process.argv.slice(2).filter((argument) => argument !== '--json');
  const isJson = process.argv.includes('--json');
  const { run } = await loadBench(name);
  // With --json the standard output is for scripts: its last line is the summary.
  const result = await run({ report: (line) => (isJson ? console.error(line) : console.log(line)), args: rest });
  keep(name ?? '', result);
  if (isJson) console.log(JSON.stringify(result.summary));
}

try {
  await main();
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
}
