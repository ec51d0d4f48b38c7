import type { ChildProcess } from 'node:child_process';
import type { CodeResult, SandboxError } from '../code-runner.js';
import type { StartOfCode } from './start-of-code.js';
import { lastLine, type Exit } from './watch-limits.js';

/** A process of a sandbox. It was started, but may not be ready yet. */
export type SandboxProcess = {
  readonly child: ChildProcess;
  readonly start: StartOfCode;
  readonly kill: () => void;
  /** Removes what remains of a process that has ended. */
  readonly cleanUp: () => Promise<void>;
  readonly notStarted: (why: string, cause?: Error) => SandboxError;
};

/** Throws SandboxError if the code was never started. */
export function requireStarted({ start, notStarted }: SandboxProcess, { failure, status }: Exit): void {
  if (!start.isReady)
    throw notStarted(failure?.message ?? (lastLine(start.before) || `exit code ${status}`), failure ?? undefined);
}

export function endOf({ status, signal }: Exit, stderr: string): Pick<CodeResult, 'error' | 'limit'> {
  if (/^MemoryError/m.test(stderr) || signal === 'SIGKILL' || status === 137)
    return { error: lastLine(stderr), limit: 'memory' };
  return { error: status === 0 ? null : lastLine(stderr) || `exit code ${status}`, limit: null };
}
