import type { ChildProcess } from 'node:child_process';
import type { CodeResult, Mechanism, SandboxError } from '../code-runner.js';
import type { StartOfCode } from './start-of-code.js';
import { lastLine, type Exit } from './watch-limits.js';

/** A process of a sandbox. It was started, but may not be ready yet. */
export type SandboxProcess = {
  readonly child: ChildProcess;
  readonly start: StartOfCode;
  readonly mechanism: Mechanism;
  readonly kill: () => void;
  /** Called periodically while the process runs. Returns the limit that its processes together exceed, if any. */
  readonly exceeded: () => CodeResult['limit'];
  /** Whether the kernel ended a process because all processes of the sandbox together took too much memory. */
  readonly isOutOfMemory: () => boolean;
  /** Removes what remains of a process that has ended or was killed. */
  readonly cleanUp: (wasKilled: boolean) => Promise<void>;
  readonly notStarted: (why: string, cause?: Error) => SandboxError;
};

/** Throws SandboxError if the code was never started. */
export function requireStarted({ start, notStarted }: SandboxProcess, { failure, status }: Exit): void {
  if (!start.isReady)
    throw notStarted(failure?.message ?? (lastLine(start.before) || `exit code ${status}`), failure ?? undefined);
}

/** The interval at which the use of memory, tasks and CPU time is read. */
const watchMs = 50;

/** Measures the processes until `stop` is called. Calls `end` if the processes together exceed a limit. */
export function watchUsage(
  { exceeded }: SandboxProcess,
  end: (limit: NonNullable<CodeResult['limit']>) => void,
): { readonly stop: () => void } {
  const timer = setInterval(() => {
    const limit = exceeded();
    if (limit !== null) end(limit);
  }, watchMs);
  return { stop: () => clearInterval(timer) };
}

/** The exit status with which a shell reports SIGXCPU, the signal for too much CPU time. */
const statusOfCpuTime = 152;

export function endOf(
  { isOutOfMemory }: SandboxProcess,
  { status, signal }: Exit,
  stderr: string,
): Pick<CodeResult, 'error' | 'limit'> {
  if (isOutOfMemory() || /^MemoryError/m.test(stderr) || signal === 'SIGKILL' || status === 137)
    return { error: lastLine(stderr), limit: 'memory' };
  if (signal === 'SIGXCPU' || status === statusOfCpuTime) return { error: lastLine(stderr) || null, limit: 'time' };
  return { error: status === 0 ? null : lastLine(stderr) || `exit code ${status}`, limit: null };
}
