import { spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { NightlyOutcome } from './nightly-job.js';

export type JobResult = NightlyOutcome & { readonly minutes: number };

export type JobOptions = {
  /** The folder of the job's file, `<name>.ts`. */
  readonly folder: string;
  readonly limitMs: number;
};

const require = createRequire(import.meta.url);
const tsx = require.resolve('tsx/cli');
const runJob = path.join(import.meta.dirname, 'run-job.ts');

/** Ends the job and all processes that it has started. */
function endGroup(pid: number): void {
  if (process.platform === 'win32') spawnSync('taskkill', ['/pid', String(pid), '/t', '/f']);
  else process.kill(-pid, 'SIGKILL');
}

/** Runs a job in a process group, which is killed at its limit. It does not throw if the job fails. */
export async function startJob(name: string, { folder, limitMs }: JobOptions): Promise<JobResult> {
  const scratch = mkdtempSync(path.join(tmpdir(), 'agentjet-nightly-'));
  const file = path.join(scratch, 'outcome.json');
  const soFarFile = path.join(scratch, 'so-far.json');
  const startedAt = performance.now();
  const child = spawn(process.execPath, [tsx, runJob, path.join(folder, `${name}.ts`), file, soFarFile], {
    detached: process.platform !== 'win32',
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  let isTooLong = false;
  const end = (): void => {
    if (child.pid !== undefined && child.exitCode === null) endGroup(child.pid);
  };
  const limit = setTimeout(() => {
    isTooLong = true;
    end();
  }, limitMs);
  // End the job on Ctrl-C, which does not reach its process group.
  const leave = (): void => {
    end();
    process.exit(1);
  };
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, leave);
  const code = await new Promise<number | null>((resolve) => child.once('close', resolve));
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.off(signal, leave);
  clearTimeout(limit);
  const minutes = Math.round((performance.now() - startedAt) / 600) / 100;
  const outcome = isTooLong || !existsSync(file) ? lost(isTooLong, minutes, code, soFarFile) : readOutcome(file);
  rmSync(scratch, { recursive: true, force: true });
  return { ...outcome, minutes };
}

const readOutcome = (file: string): NightlyOutcome => JSON.parse(readFileSync(file, 'utf8')) as NightlyOutcome;

/** Returns the outcome of a job that has written none: the result that it kept before it ended, marked as failed. */
function lost(isTooLong: boolean, minutes: number, code: number | null, soFarFile: string): NightlyOutcome {
  const summary = isTooLong
    ? `it was ended after ${minutes} minutes, its limit`
    : `its process ended with ${code ?? 'a signal'} and left no outcome`;
  if (!existsSync(soFarFile)) return { passed: false, summary, details: {} };
  const soFar = readOutcome(soFarFile);
  return { passed: false, summary: `${summary}; until then: ${soFar.summary}`, details: soFar.details };
}
