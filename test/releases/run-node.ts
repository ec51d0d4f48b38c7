import { spawn } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import path from 'node:path';

export const root = path.resolve(import.meta.dirname, '../..');
export const ajet = path.join(root, 'packages/cli/dist/main.js');

/** A file that is loaded with a program and writes the program's usage to the file USAGE_REPORT. */
export const reporter = path.join(import.meta.dirname, 'report-usage.mjs');

type Usage = {
  readonly cpuSeconds: number;
  /** The largest resident memory. */
  readonly peakBytes: number;
};

export type Ended = Usage & {
  readonly seconds: number;
  /** What it wrote to stdout. The last line of `ajet eval --json` lists all tasks, so it is long. */
  readonly output: string;
};

export async function readUsage(file: string): Promise<Usage> {
  return JSON.parse(await readFile(file, 'utf8')) as Usage;
}

/**
 * Runs a Node program to its end. `report-usage.mjs`, which is loaded with it, writes its usage into `scratch`.
 */
export async function runNode(
  scratch: string,
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<Ended> {
  const startedAt = performance.now();
  const report = path.join(scratch, 'usage.json');
  const child = spawn(process.execPath, ['--import', reporter, ...args], {
    cwd: root,
    env: { ...process.env, ...env, USAGE_REPORT: report },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let errors = '';
  let output = '';
  child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()));
  child.stderr.on('data', (chunk: Buffer) => (errors = (errors + chunk.toString()).slice(-4000)));
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', resolve);
  });
  if (code !== 0) throw new Error(`node ${args.join(' ')} ended with ${code}:\n${errors}`);
  return {
    ...(await readUsage(report)),
    seconds: (performance.now() - startedAt) / 1000,
    output,
  };
}

/** Returns the last line of an output. With `--json`, this is the result of a command. */
export const lastLine = (output: string): string => output.trim().split('\n').at(-1) ?? '';

/** Runs a TypeScript file of this repository to its end. Rejects with the end of its errors if it fails. */
export function runScript(scratch: string, file: string, args: readonly string[] = []): Promise<Ended> {
  return runNode(scratch, ['--import', 'tsx', path.join(root, file), ...args]);
}
