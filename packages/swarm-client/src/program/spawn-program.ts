import { spawn, type ChildProcess, type ChildProcessWithoutNullStreams as Spawned } from 'node:child_process';
import { setTimeout as delay } from 'node:timers/promises';
import { toErrorMessage } from '@agentjet/core';
import { untilEnded } from './programs-ended.js';

/** How a program ended. */
export type ProgramEnd = {
  /** Null if a signal ended it. */
  readonly exitCode: number | null;
  /** The last 64 KiB of each output. */
  readonly stdout: string;
  readonly stderr: string;
};

export type ProgramOptions = {
  readonly command: string;
  readonly args: readonly string[];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** If it aborts, the program and all processes that the program started are ended. */
  readonly signal: AbortSignal;
};

const mostBytes = 64 * 1024;
const patienceMs = 3000;

/**
 * The running programs. Each has a separate process group, so it would survive the end of this process. Therefore all
 * are killed when this process exits.
 */
const running = new Set<ChildProcess>();
const killAll = (): void => {
  for (const child of running) signalGroup(child, 'SIGKILL');
};

/**
 * Runs a program to its end. `input` is text for its standard input, which is then closed. Rejects if the program cannot
 * be started, and with the signal's reason if the signal aborts.
 */
export function spawnProgram(options: ProgramOptions & { readonly input?: string }): Promise<ProgramEnd> {
  return withProgram(options, async (child) => {
    const [stdout, stderr] = [new Tail(), new Tail()];
    child.stdout.on('data', stdout.add);
    child.stderr.on('data', stderr.add);
    child.stdin.end(options.input ?? '');
    const exitCode = await endOf(child);
    return { exitCode, stdout: stdout.text, stderr: stderr.text };
  });
}

/**
 * Runs a program as long as `talk` uses its standard input and output, and then ends it. Rejects as `spawnProgram` does,
 * and if `talk` rejects: with the end of what the program wrote to standard error.
 */
export function talkToProgram<T>(
  options: ProgramOptions,
  talk: (child: Spawned) => Promise<T>,
): Promise<{ readonly said: T; readonly stderr: string }> {
  return withProgram(options, async (child) => {
    const stderr = new Tail();
    child.stderr.on('data', stderr.add);
    const ended = endOf(child);
    // `endOf` rejects only if the program could not be started, and then `talk` would never end.
    const said = await Promise.race([talk(child), ended.then(() => new Promise<never>(() => {}))]).catch(
      async (error: unknown) => {
        options.signal.throwIfAborted();
        const exitCode = await Promise.race([ended, delay(exitMs)]);
        throw new Error(describeBreak(error, exitCode, stderr.text), { cause: error });
      },
    );
    child.stdin.end();
    await Promise.race([ended, delay(exitMs)]);
    return { said, stderr: stderr.text };
  });
}

/** How long a program may take to end after its conversation. */
const exitMs = 1000;

function describeBreak(error: unknown, exitCode: number | null | void, stderr: string): string {
  const end = exitCode === undefined ? '' : ` The program ended with ${exitCode ?? 'a signal'}.`;
  const noise = stderr.trim() === '' ? '' : ` Its standard error ends with: ${stderr.trim().slice(-1000)}`;
  return `${toErrorMessage(error)}.${end}${noise}`;
}

async function withProgram<T>(options: ProgramOptions, use: (child: Spawned) => Promise<T>): Promise<T> {
  const { command, args, cwd, env, signal } = options;
  signal.throwIfAborted();
  const child = spawn(command, args, { cwd, env, detached: canGroup, stdio: ['pipe', 'pipe', 'pipe'] });
  const used = watch(child, signal, use);
  if (running.size === 0) process.on('exit', killAll);
  running.add(child);
  try {
    return await untilEnded(used);
  } finally {
    running.delete(child);
    if (running.size === 0) process.off('exit', killAll);
  }
}

async function watch<T>(child: Spawned, signal: AbortSignal, use: (child: Spawned) => Promise<T>): Promise<T> {
  child.stdin.on('error', () => {}); // the program may end before it has read everything
  let killing: NodeJS.Timeout | undefined;
  const onAbort = (): void => {
    signalGroup(child, 'SIGTERM');
    killing = setTimeout(() => signalGroup(child, 'SIGKILL'), patienceMs);
  };
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    const result = await use(child);
    signal.throwIfAborted();
    return result;
  } finally {
    clearTimeout(killing);
    signal.removeEventListener('abort', onAbort);
    signalGroup(child, 'SIGKILL'); // processes that the program left running would slow the next episode
  }
}

/** Whether a program can have a separate process group. Windows has none. */
const canGroup = process.platform !== 'win32';

/**
 * Resolves once the program has ended and its output is read. Processes that it started may keep the pipes open
 * forever, so it waits for them only a short time.
 */
function endOf(child: ChildProcess): Promise<number | null> {
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code) => resolve(code));
    child.once('exit', (code) => setTimeout(() => resolve(code), 500).unref());
  });
}

function signalGroup(child: ChildProcess, name: NodeJS.Signals): void {
  if (child.pid === undefined) return;
  try {
    if (canGroup) process.kill(-child.pid, name);
    else child.kill(name);
  } catch {
    // it has already ended
  }
}

class Tail {
  #chunks: Buffer[] = [];
  #bytes = 0;

  add = (chunk: Buffer): void => {
    this.#chunks.push(chunk);
    this.#bytes += chunk.length;
    if (this.#bytes < 4 * mostBytes) return;
    this.#chunks = [Buffer.concat(this.#chunks).subarray(-mostBytes)];
    this.#bytes = mostBytes;
  };

  get text(): string {
    return Buffer.concat(this.#chunks).subarray(-mostBytes).toString();
  }
}
