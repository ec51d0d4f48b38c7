import { spawn, type ChildProcess, type ChildProcessWithoutNullStreams as Spawned } from 'node:child_process';

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
  /** Text for its standard input, which is then closed. */
  readonly input?: string;
  /** If it aborts, the program and all processes that the program started are ended. */
  readonly signal: AbortSignal;
};

const mostBytes = 64 * 1024;
const patienceMs = 3000;

/**
 * The running programs. Each has a separate process group, so it would survive the end of this process. Therefore all
 * are killed when this process exits.
 */
const running = new Map<ChildProcess, Promise<unknown>>();
const killAll = (): void => {
  for (const child of running.keys()) signalGroup(child, 'SIGKILL');
};

/**
 * Resolves once every program that was asked to end has ended. A program that does not end is killed after a few
 * seconds.
 */
export async function programsEnded(): Promise<void> {
  await Promise.allSettled(running.values());
}

/** Runs a program to its end. Rejects if it cannot be started, and with the signal's reason if the signal aborts. */
export async function spawnProgram(options: ProgramOptions): Promise<ProgramEnd> {
  const { command, args, cwd, env, signal } = options;
  signal.throwIfAborted();
  const child = spawn(command, args, { cwd, env, detached: canGroup, stdio: ['pipe', 'pipe', 'pipe'] });
  const ended = watch(child, options);
  if (running.size === 0) process.on('exit', killAll);
  running.set(child, ended);
  try {
    return await ended;
  } finally {
    running.delete(child);
    if (running.size === 0) process.off('exit', killAll);
  }
}

async function watch(child: Spawned, { input, signal }: ProgramOptions): Promise<ProgramEnd> {
  const [stdout, stderr] = [new Tail(), new Tail()];
  child.stdout.on('data', stdout.add);
  child.stderr.on('data', stderr.add);
  child.stdin.on('error', () => {}); // the program may end before it has read everything
  child.stdin.end(input ?? '');
  let killing: NodeJS.Timeout | undefined;
  const onAbort = (): void => {
    signalGroup(child, 'SIGTERM');
    killing = setTimeout(() => signalGroup(child, 'SIGKILL'), patienceMs);
  };
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    const exitCode = await endOf(child);
    signal.throwIfAborted();
    return { exitCode, stdout: stdout.text, stderr: stderr.text };
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
