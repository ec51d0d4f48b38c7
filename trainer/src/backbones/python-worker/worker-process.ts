import { spawn, type ChildProcess } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import type { Socket } from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { codeOfError } from '@agentjet/core';
import { LastLines } from './last-lines.js';
import type { LastWords } from './worker-notice.js';

/** How a worker is started. */
export type WorkerLaunch = {
  /** The interpreter. */
  readonly command: string;
  readonly cwd: string;
  /** Variables in addition to this process's environment. */
  readonly env?: Readonly<Record<string, string>>;
  /**
   * Returns the arguments and variables that depend on a fresh folder. The folder is removed after the worker has
   * ended.
   */
  inScratchDir(dir: string): { readonly args: readonly string[]; readonly env?: Readonly<Record<string, string>> };
};

export type WorkerProcess = {
  readonly pid: number;
  /** Returns the last lines of the worker's log. */
  lastLines(): string;
  /** Returns why a process of the worker ended, if it said so. */
  lastWords(): LastWords | undefined;
  /** Resolves when the process has ended, with its exit code or signal. */
  readonly ended: Promise<string>;
  /** Ends the worker and all processes that it started. */
  kill(signal: NodeJS.Signals): void;
  /** Sets the connection of a worker that was started elsewhere. Nothing else of such a worker is known. */
  hold?(socket: Socket): void;
};

const numKeptLines = 40;

/** The wait for the last output of a worker that has ended. */
const lastOutputMs = 1000;

export async function startWorkerProcess(
  launch: WorkerLaunch,
  onLine?: (line: string) => void,
): Promise<WorkerProcess> {
  const scratchDir = await mkdtemp(path.join(os.tmpdir(), 'ajet-worker-'));
  const { args, env } = launch.inScratchDir(scratchDir);
  const child = spawn(launch.command, args, {
    cwd: launch.cwd,
    env: { ...process.env, ...env, ...launch.env },
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: process.platform !== 'win32',
  });
  return superviseChild(child, scratchDir, onLine);
}

function superviseChild(
  child: ChildProcess,
  scratchDir: string,
  onLine: ((line: string) => void) | undefined,
): WorkerProcess {
  const lines = new LastLines(numKeptLines);
  for (const stream of [child.stdout, child.stderr]) if (stream !== null) lines.follow(stream, onLine);
  const ended = new Promise<string>((resolve) => {
    child.once('error', (error) => resolve(`could not be started: ${error.message}`));
    // The output stays open while another process that the worker started has it, so its end is not awaited for long.
    child.once('exit', (code, signal) => {
      const how = signal === null ? `exited with code ${code}` : `was ended by ${signal}`;
      const timer = setTimeout(() => resolve(how), lastOutputMs);
      child.once('close', () => {
        clearTimeout(timer);
        resolve(how);
      });
    });
  }).then(async (how) => {
    killTree(child, 'SIGKILL');
    await rm(scratchDir, { recursive: true, force: true });
    return how;
  });
  return {
    pid: child.pid ?? -1,
    lastLines: () => lines.toString(),
    lastWords: () => lines.words,
    ended,
    kill: (signal) => killTree(child, signal),
  };
}

/** Ends the whole process group, so no process that the worker started outlives it. */
function killTree(child: ChildProcess, signal: NodeJS.Signals): void {
  try {
    if (process.platform !== 'win32' && child.pid !== undefined) process.kill(-child.pid, signal);
    else child.kill(signal);
  } catch (error) {
    if (codeOfError(error) !== 'ESRCH') throw error;
  }
}
