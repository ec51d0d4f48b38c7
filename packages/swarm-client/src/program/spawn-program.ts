import { spawn, type ChildProcess, type ChildProcessWithoutNullStreams as Spawned } from 'node:child_process';

/** How a program ended. */
export type ProgramEnd = {
  /** Null if a signal ended it. */
  readonly exitCode: number | null;
  /** The last 64 KiB of each. */
  readonly stdout: string;
  readonly stderr: string;
};

export type ProgramOptions = {
  readonly command: string;
  readonly args: readonly string[];
  readonly cwd: string;
  readonly env: NodeJS.ProcessEnv;
  /** Written to its standard input, which is then closed. */
  readonly input?: string;
  /** Aborting it ends the program and everything that it started. */
  readonly signal: AbortSignal;
};

const mostBytes = 64 * 1024;
const patienceMs = 3000;

/** What runs now, each in a separate group of processes: the end of this one would not be its end. */
const running = new Map<ChildProcess, Promise<unknown>>();
const killAll = (): void => {
  for (const child of running.keys()) signalGroup(child, 'SIGKILL');
};

/** Resolves once every program that was told to end has done so. One that does not is killed after a few seconds. */
export async function programsEnded(): Promise<void> {
  await Promise.allSettled(running.values());
}

/** Runs a program to its end. Rejects if it cannot be started, and with the signal's reason if that is aborted. */
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
  child.stdin.on('error', () => {}); // it may end before it has read everything
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
    signalGroup(child, 'SIGKILL'); // what it left running would use up the next episode's time
  }
}

/** Windows has no groups of processes. */
const canGroup = process.platform !== 'win32';

/** Resolves once it has ended and its output is read; what it started may keep the pipes open for ever, so not much later. */
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
    // it has ended
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
