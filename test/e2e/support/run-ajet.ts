import { spawn, type ChildProcess } from 'node:child_process';
import path from 'node:path';

const main = path.resolve(import.meta.dirname, '../../../packages/cli/dist/main.js');

export type Finished = {
  readonly code: number | null;
  readonly signal: string | null;
  readonly stdout: string;
  readonly stderr: string;
};
export type Running = {
  readonly child: ChildProcess;
  readonly finished: Promise<Finished>;
  waitFor(pattern: RegExp): Promise<RegExpExecArray>;
};

/** In a run of a few seconds, optimizing code takes longer than it saves. */
const forShortRuns = ['--no-opt'];

type StartOptions = {
  readonly env?: NodeJS.ProcessEnv;
  readonly nodeArgs?: readonly string[];
  /** The process is killed after this time. */
  readonly timeoutMs?: number;
};

/** Starts the built command in `cwd`. */
export function startAjet(cwd: string, args: readonly string[], options: StartOptions = {}): Running {
  const child = spawn(process.execPath, [...forShortRuns, ...(options.nodeArgs ?? []), main, ...args], {
    cwd,
    env: { ...process.env, ...options.env },
    timeout: options.timeoutMs ?? 500_000,
    killSignal: 'SIGKILL',
  });
  let stdout = '';
  let stderr = '';
  const listeners = new Set<() => void>();
  const notify = (): void => listeners.forEach((listener) => listener());
  child.stdout.on('data', (chunk: Buffer) => {
    stdout += chunk.toString();
    notify();
  });
  child.stderr.on('data', (chunk: Buffer) => {
    stderr += chunk.toString();
    notify();
  });
  const finished = new Promise<Finished>((resolve) =>
    child.on('close', (code, signal) => resolve({ code, signal, stdout, stderr })),
  );
  const waitFor = (pattern: RegExp): Promise<RegExpExecArray> =>
    new Promise((resolve, reject) => {
      const check = (): void => {
        const match = pattern.exec(stdout + stderr);
        if (match === null) return;
        listeners.delete(check);
        resolve(match);
      };
      listeners.add(check);
      void finished.then(() => reject(new Error(`ended without ${String(pattern)}:\n${stdout}\n${stderr}`)));
      check();
    });
  return { child, finished, waitFor };
}

export function runAjet(cwd: string, args: readonly string[], options: StartOptions = {}): Promise<Finished> {
  return startAjet(cwd, args, options).finished;
}
