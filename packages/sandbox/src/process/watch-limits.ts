import type { ChildProcess } from 'node:child_process';
import type { CodeLimits, CodeResult } from '../code-runner.js';

export type Watched = { readonly stdout: string; readonly stderr: string; readonly limit: CodeResult['limit'] };

type Watch = {
  readonly limits: CodeLimits;
  readonly signal: AbortSignal | undefined;
  /** Ends the code. */
  readonly kill: () => void;
  /** Takes text of standard error and returns the part that the code wrote. */
  readonly readErrors?: (text: string) => string;
};

/**
 * Collects the output of a process, and ends the process when it reaches a limit. `stop` returns the first limit that
 * was reached. Time counts from `startClock`.
 */
export function watchLimits(
  child: ChildProcess,
  { limits, signal, kill, readErrors = (text) => text }: Watch,
): {
  readonly startClock: () => void;
  readonly end: (reason: NonNullable<CodeResult['limit']>) => void;
  readonly stop: () => Watched;
} {
  const output = { stdout: '', stderr: '' };
  let limit: CodeResult['limit'] = null;
  let timer: NodeJS.Timeout | undefined;
  const end = (reason: NonNullable<CodeResult['limit']>): void => {
    if (limit === null) kill();
    limit ??= reason;
  };
  const collect = (name: 'stdout' | 'stderr', text: string): void => {
    const room = limits.outputCharacters - output.stdout.length - output.stderr.length;
    output[name] += text.slice(0, Math.max(0, room));
    if (text.length > room) end('output');
  };
  child.stdout?.setEncoding('utf8').on('data', (text: string) => collect('stdout', text));
  child.stderr?.setEncoding('utf8').on('data', (text: string) => collect('stderr', readErrors(text)));
  const abort = (): void => end('aborted');
  signal?.addEventListener('abort', abort, { once: true });
  if (signal?.aborted === true) abort();
  return {
    end,
    startClock: () => {
      timer ??= setTimeout(() => end('time'), limits.seconds * 1000);
    },
    stop: () => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', abort);
      return { ...output, limit };
    },
  };
}

export type Exit = { readonly status: number | null; readonly signal: string | null; readonly failure: Error | null };

/** A process, or something that ends like one. */
export interface Ending {
  readonly stdin: { destroy(): unknown } | null;
  readonly stdout: { destroy(): unknown } | null;
  readonly stderr: { destroy(): unknown } | null;
  once(event: 'error', listener: (error: Error) => void): unknown;
  once(event: 'exit', listener: () => void): unknown;
  once(event: 'close', listener: (status: number | null, signal: string | null) => void): unknown;
}

/**
 * A process that has exited may have started another one that keeps the pipes open. The pipes are closed after this
 * time.
 */
const openPipesMs = 2000;

/** Resolves when the process has exited and its output was read. */
export function exitOf(child: Ending): Promise<Exit> {
  return new Promise((resolve) => {
    let timer: NodeJS.Timeout | undefined;
    child.once('error', (failure) => resolve({ status: null, signal: null, failure }));
    child.once('exit', () => {
      timer = setTimeout(() => {
        for (const pipe of [child.stdin, child.stdout, child.stderr]) pipe?.destroy();
      }, openPipesMs);
    });
    child.once('close', (status, signal) => {
      clearTimeout(timer);
      resolve({ status, signal, failure: null });
    });
  });
}

/** Returns the line of a traceback that describes the error. */
export function lastLine(stderr: string): string {
  return stderr.trimEnd().split('\n').at(-1) ?? '';
}
