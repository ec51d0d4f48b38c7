import { spawn } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import path from 'node:path';

export const root = path.resolve(import.meta.dirname, '../..');
export const ajet = path.join(root, 'packages/cli/dist/main.js');

/** A file that is loaded with a program and writes the program's processor time. */
export const reporter = path.join(import.meta.dirname, 'report-cpu.mjs');

export type Ended = {
  readonly cpuSeconds: number;
  readonly seconds: number;
  /** The end of its output to stdout. */
  readonly output: string;
};

/**
 * Runs a Node program to its end. `report-cpu.mjs`, which is loaded with it, writes its processor time into `scratch`.
 */
export async function runNode(
  scratch: string,
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<Ended> {
  const startedAt = performance.now();
  const report = path.join(scratch, 'cpu.txt');
  const child = spawn(process.execPath, ['--import', reporter, ...args], {
    cwd: root,
    env: { ...process.env, ...env, CPU_REPORT: report },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let errors = '';
  let output = '';
  child.stdout.on('data', (chunk: Buffer) => (output = (output + chunk.toString()).slice(-4000)));
  child.stderr.on('data', (chunk: Buffer) => (errors = (errors + chunk.toString()).slice(-4000)));
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', resolve);
  });
  if (code !== 0) throw new Error(`node ${args.join(' ')} ended with ${code}:\n${errors}`);
  return {
    cpuSeconds: Number(await readFile(report, 'utf8')),
    seconds: (performance.now() - startedAt) / 1000,
    output,
  };
}
