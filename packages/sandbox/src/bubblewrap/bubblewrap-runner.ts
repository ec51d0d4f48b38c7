import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import {
  checkFileName,
  limitsOf,
  refuseCode,
  SandboxError,
  type CodeLimits,
  type CodeOptions,
  type CodeResult,
  type CodeRunner,
} from '../code-runner.js';

/**
 * Python in a separate namespace (bubblewrap, Linux): no network, no other process, no file but the system's programs, read-only,
 * and an empty folder with the given files. The folder is made before each run and removed after it.
 */
export function createBubblewrapRunner(programs: SandboxPrograms): CodeRunner {
  return {
    languages: ['python'],
    async run(code, options) {
      const refused = refuseCode(code, options);
      if (refused !== null) return refused;
      if (options.signal?.aborted === true) return { stdout: '', value: undefined, error: null, limit: 'aborted' };
      const folder = await mkdtemp(path.join(tmpdir(), 'ajet-sandbox-'));
      try {
        await writeFiles(folder, { ...options.files, [mainFile]: code });
        return await runIn(folder, programs, options);
      } finally {
        await rm(folder, { recursive: true, force: true });
      }
    },
    close: async () => {},
  };
}

export type SandboxPrograms = { readonly bwrap: string; readonly prlimit: string; readonly python: string };

const mainFile = 'main.py';

/** The programs that it takes, or what is missing, in words. Tries a real start: some kernels and containers forbid it. */
export function findPrograms(): SandboxPrograms | string {
  if (process.platform !== 'linux') return 'bubblewrap runs on Linux only';
  const find = (name: string): string | undefined =>
    ['/usr/bin', '/bin', '/usr/local/bin'].map((folder) => path.join(folder, name)).find(existsSync);
  const [bwrap, prlimit, python] = [find('bwrap'), find('prlimit'), find('python3')];
  if (bwrap === undefined) return 'bubblewrap is not installed: `apt install bubblewrap`';
  if (prlimit === undefined) return 'prlimit is not installed: `apt install util-linux`';
  if (python === undefined) return 'python3 is not installed';
  const programs = { bwrap, prlimit, python };
  const [command = '', ...args] = commandLine('/tmp', programs, { seconds: 5, megabytes: 256, outputCharacters: 1 });
  const tried = spawnSync(command, [...args.slice(0, -1), '--version'], { encoding: 'utf8', timeout: 10_000, env: {} });
  return tried.status === 0 ? programs : `bubblewrap cannot start here: ${tried.stderr?.trim() || String(tried.error)}`;
}

async function writeFiles(folder: string, files: Readonly<Record<string, string>>): Promise<void> {
  for (const [name, text] of Object.entries(files)) {
    checkFileName(name);
    await mkdir(path.dirname(path.join(folder, name)), { recursive: true });
    await writeFile(path.join(folder, name), text);
  }
}

/** Directories of the system that programs need. /etc is left out: it says who uses the machine. */
const systemFolders = ['/usr', '/bin', '/lib', '/lib64', '/lib32'];
const maxProcesses = 64;
const maxFileBytes = 64 * 1024 * 1024;

function commandLine(
  folder: string,
  { bwrap, prlimit, python }: SandboxPrograms,
  limits: CodeLimits,
): readonly string[] {
  const system = systemFolders.filter(existsSync).flatMap((name) => ['--ro-bind', name, name]);
  const bytes = limits.megabytes * 1024 * 1024;
  const isolation = ['--unshare-all', '--unshare-user', '--die-with-parent', '--new-session', '--cap-drop', 'ALL'];
  const folders = [
    '--proc',
    '/proc',
    '--dev',
    '/dev',
    '--tmpfs',
    '/tmp',
    '--bind',
    folder,
    '/work',
    '--chdir',
    '/work',
  ];
  const variables = { PATH: '/usr/bin:/bin', HOME: '/work', PYTHONDONTWRITEBYTECODE: '1' };
  return [
    bwrap,
    ...isolation,
    '--clearenv',
    ...system,
    ...folders,
    ...Object.entries(variables).flatMap(([name, value]) => ['--setenv', name, value]),
    prlimit,
    `--as=${bytes}`,
    `--nproc=${maxProcesses}`,
    `--fsize=${maxFileBytes}`,
    '--core=0',
    `--cpu=${Math.ceil(limits.seconds) + 1}`,
    python,
    '-I',
    '-u',
    mainFile,
  ];
}

async function runIn(folder: string, programs: SandboxPrograms, options: CodeOptions): Promise<CodeResult> {
  const limits = limitsOf(options);
  const [command = '', ...args] = commandLine(folder, programs, limits);
  const child = spawn(command, args, { stdio: ['pipe', 'pipe', 'pipe'], env: {}, cwd: '/' });
  // Code that ends without reading its input breaks the pipe, which is fine.
  child.stdin?.on('error', () => undefined).end(options.stdin ?? '');
  const watched = watch(child, limits, options.signal);
  const { status, signal, failure } = await exitOf(child);
  const { stdout, stderr, limit } = watched();
  if (failure !== null)
    throw new SandboxError('unavailable', `bubblewrap cannot be started: ${failure.message}`, { cause: failure });
  if (limit !== null) return { stdout, value: undefined, error: stderr.trim() || null, limit };
  if (stderr.startsWith('bwrap: ')) throw new SandboxError('unavailable', `bubblewrap cannot start: ${stderr.trim()}`);
  if (/^MemoryError/m.test(stderr) || signal === 'SIGKILL')
    return { stdout, value: undefined, error: lastLine(stderr), limit: 'memory' };
  return {
    stdout,
    value: undefined,
    error: status === 0 ? null : lastLine(stderr) || `exit code ${status}`,
    limit: null,
  };
}

type Watched = { readonly stdout: string; readonly stderr: string; readonly limit: CodeResult['limit'] };

/** Collects output, and kills the sandbox at its first limit. The result says which. */
function watch(child: ChildProcess, limits: CodeLimits, signal?: AbortSignal): () => Watched {
  const output = { stdout: '', stderr: '' };
  let limit: CodeResult['limit'] = null;
  const kill = (reason: NonNullable<CodeResult['limit']>): void => {
    limit ??= reason;
    child.kill('SIGKILL');
  };
  for (const name of ['stdout', 'stderr'] as const) {
    child[name]?.setEncoding('utf8');
    child[name]?.on('data', (text: string) => {
      const room = limits.outputCharacters - output.stdout.length - output.stderr.length;
      output[name] += text.slice(0, Math.max(0, room));
      if (text.length > room) kill('output');
    });
  }
  const timer = setTimeout(() => kill('time'), limits.seconds * 1000);
  const abort = (): void => kill('aborted');
  signal?.addEventListener('abort', abort, { once: true });
  if (signal?.aborted === true) abort();
  return () => {
    clearTimeout(timer);
    signal?.removeEventListener('abort', abort);
    return { ...output, limit };
  };
}

type Exit = { readonly status: number | null; readonly signal: string | null; readonly failure: Error | null };

function exitOf(child: ChildProcess): Promise<Exit> {
  return new Promise((resolve) => {
    child.once('error', (failure) => resolve({ status: null, signal: null, failure }));
    child.once('close', (status, signal) => resolve({ status, signal, failure: null }));
  });
}

/** Of a traceback: the line that says what happened. */
function lastLine(stderr: string): string {
  return stderr.trimEnd().split('\n').at(-1) ?? '';
}
