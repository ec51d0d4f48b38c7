import { spawn, spawnSync } from 'node:child_process';
import { existsSync, statfsSync } from 'node:fs';
import path from 'node:path';
import type { Readable, Writable } from 'node:stream';
import { SandboxError } from '../code-runner.js';
import { exitOf, lastLine, type Ending } from '../process/watch-limits.js';

/**
 * The engine that runs boxes: docker or podman, through its command line. A call that the engine refuses, that does not
 * end in time, or whose client dies rejects with SandboxError.
 */
export type BoxEngine = {
  readonly name: 'docker' | 'podman';
  /** The path of the program. */
  readonly program: string;
  /** The folder in which the engine keeps images and boxes. Null if it is on another machine. */
  readonly folder: string | null;
};

export const boxEngines = ['podman', 'docker'] as const;

export type BoxEngineName = (typeof boxEngines)[number];

/**
 * Returns the first engine of the list that answers, or a description of what is missing. Looks for the programs in
 * `folders`. Default: PATH.
 */
export function findBoxEngine(
  names: readonly BoxEngineName[] = boxEngines,
  folders: readonly string[] = (process.env['PATH'] ?? '').split(path.delimiter),
): BoxEngine | string {
  const problems: string[] = [];
  for (const name of names) {
    const program = folders.map((folder) => path.join(folder, name)).find((file) => existsSync(file));
    if (program === undefined) {
      problems.push(`${name} is not installed`);
      continue;
    }
    const format = name === 'docker' ? '{{.DockerRootDir}}' : '{{.Store.GraphRoot}}';
    const tried = spawnSync(program, ['info', '--format', format], { encoding: 'utf8', timeout: 30_000 });
    const folder = tried.stdout?.trim() ?? '';
    if (tried.status === 0 && folder !== '')
      return { name, program, folder: path.isAbsolute(folder) && existsSync(folder) ? folder : null };
    problems.push(`${name} does not work: ${lastLine(tried.stderr ?? '') || String(tried.error ?? 'no answer')}`);
  }
  return problems.join('; ');
}

/** Fewer free megabytes than this, and programs in boxes fail for want of room. */
const leastFreeMegabytes = 128;

/**
 * Throws SandboxError if the disk of the engine is full. A program in a box would fail then, which is not the fault of
 * the program.
 */
export function checkRoom({ folder, name }: BoxEngine): void {
  if (folder === null) return;
  const { bavail, bsize } = statfsSync(folder);
  const megabytes = Math.floor((bavail * bsize) / 2 ** 20);
  if (megabytes >= leastFreeMegabytes) return;
  throw new SandboxError(
    'failed',
    `The disk of ${name} is full: ${folder} has ${megabytes} MB left. Free at least ${leastFreeMegabytes} MB.`,
  );
}

export type EngineCall = {
  /** The longest time that the call may take. Null: no limit. */
  readonly seconds: number | null;
  readonly signal?: AbortSignal | undefined;
  readonly stdin?: Readable | string | undefined;
  /** Environment variables for the client, in addition to those of this process. */
  readonly env?: Readonly<Record<string, string>> | undefined;
};

export type EngineAnswer = { readonly status: number; readonly stdout: string; readonly stderr: string };

/** The longest part of an answer that is kept. */
const keptCharacters = 1_000_000;

/** Calls the engine. A status other than 0 is an answer; use `askEngine` if it is a failure. */
export async function callEngine(
  engine: BoxEngine,
  args: readonly string[],
  { seconds, signal, stdin, env }: EngineCall,
): Promise<EngineAnswer> {
  signal?.throwIfAborted();
  const child = spawnClient(engine, args, { env, hasInput: stdin !== undefined });
  const kept = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr'] as const)
    child[name].setEncoding('utf8').on('data', (text: string) => {
      if (kept[name].length < keptCharacters) kept[name] += text;
    });
  feed(child.stdin, stdin);
  const ended = endClient(child, { seconds, signal });
  const exit = await exitOf(child);
  const reason = ended();
  signal?.throwIfAborted();
  if (reason === 'time') throw tooLong(engine, args, seconds ?? 0);
  if (exit.failure !== null || exit.status === null)
    throw new SandboxError(
      'failed',
      `${engine.name} ${args[0]} broke off: ${exit.failure?.message ?? `its client got ${exit.signal}`}`,
      { cause: exit.failure ?? undefined },
    );
  return { status: exit.status, ...kept };
}

/** Calls the engine and returns what it printed. Throws SandboxError with its last line if it refuses. */
export async function askEngine(engine: BoxEngine, args: readonly string[], call: EngineCall): Promise<string> {
  const { status, stdout, stderr } = await callEngine(engine, args, call);
  if (status === 0) return stdout.trim();
  const said = lastLine(stderr) || lastLine(stdout) || `exit code ${status}`;
  throw new SandboxError('failed', `${engine.name} ${args[0]} failed: ${said}`);
}

/** Starts a client of the engine in a separate process group, so that Ctrl-C reaches this process alone. */
export function spawnClient(
  { program }: BoxEngine,
  args: readonly string[],
  { env, hasInput }: { readonly env?: Readonly<Record<string, string>> | undefined; readonly hasInput: boolean },
) {
  const child = spawn(program, args, {
    stdio: ['pipe', 'pipe', 'pipe'],
    detached: true,
    env: { ...process.env, ...env },
  });
  child.stdin.on('error', () => undefined); // the client may end before it has read everything
  if (!hasInput) child.stdin.end();
  return child;
}

/** A command in a box, and the streams to it. */
export type BoxClient = Ending & {
  kill(signal: 'SIGKILL'): unknown;
  readonly stdin: Writable;
  readonly stdout: Readable;
  readonly stderr: Readable;
};

export function feed(stdin: Writable, input: Readable | string | undefined): void {
  if (typeof input === 'string') stdin.end(input);
  else input?.on('error', () => stdin.destroy()).pipe(stdin);
}

/** Kills the client if it takes too long or the caller gives up. The returned function stops that, and says why it ended. */
export function endClient(
  child: BoxClient,
  { seconds, signal }: Pick<EngineCall, 'seconds' | 'signal'>,
): () => 'time' | 'aborted' | undefined {
  let reason: 'time' | 'aborted' | undefined;
  const end = (why: 'time' | 'aborted'): void => {
    reason ??= why;
    child.kill('SIGKILL');
  };
  const timer = seconds === null ? undefined : setTimeout(() => end('time'), seconds * 1000);
  const abort = (): void => end('aborted');
  signal?.addEventListener('abort', abort, { once: true });
  return () => {
    clearTimeout(timer);
    signal?.removeEventListener('abort', abort);
    return reason;
  };
}

function tooLong({ name }: BoxEngine, [verb]: readonly string[], seconds: number): SandboxError {
  return new SandboxError('failed', `${name} ${verb} did not end in ${seconds} s.`);
}
