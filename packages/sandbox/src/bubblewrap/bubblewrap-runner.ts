import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import path from 'node:path';
import { SandboxError, type CodeLimits, type CodeRunner, type Side } from '../code-runner.js';
import { createFolderRunner } from '../process/folder-runner.js';
import type { SandboxProcess } from '../process/sandbox-process.js';
import { StartOfCode } from '../process/start-of-code.js';
import { writeFiles } from '../process/write-files.js';

/**
 * Runs Python in a separate namespace (bubblewrap, Linux). The code has no network and sees no other process. It can
 * read the system's programs and can use a folder that contains only the given files. The folder is made before each
 * run and removed afterwards.
 */
export function createBubblewrapRunner(programs: SandboxPrograms): CodeRunner {
  return createFolderRunner((folder, side, limits) => launch(programs, folder, side, limits));
}

export type SandboxPrograms = { readonly bwrap: string; readonly prlimit: string; readonly python: string };

const mainFile = 'main.py';

/**
 * Returns the programs that the sandbox needs, or a description of what is missing. Starts a sandbox as a test, because
 * some kernels and containers forbid it.
 */
export function findPrograms(): SandboxPrograms | string {
  if (process.platform !== 'linux') return 'bubblewrap runs on Linux only';
  const find = (name: string): string | undefined =>
    ['/usr/bin', '/bin', '/usr/local/bin'].map((folder) => path.join(folder, name)).find(existsSync);
  const [bwrap, prlimit, python] = [find('bwrap'), find('prlimit'), find('python3')];
  if (bwrap === undefined) return 'bubblewrap is not installed: `apt install bubblewrap`';
  if (prlimit === undefined) return 'prlimit is not installed: `apt install util-linux`';
  if (python === undefined) return 'python3 is not installed';
  const programs = { bwrap, prlimit, python };
  const limits = { seconds: 5, megabytes: 256, outputCharacters: 1 };
  const [command = '', ...args] = commandLine('/tmp', programs, { limits, ready: 'ready' });
  const tried = spawnSync(command, [...args.slice(0, -1), '--version'], { encoding: 'utf8', timeout: 10_000, env: {} });
  return tried.status === 0 ? programs : `bubblewrap cannot start here: ${tried.stderr?.trim() || String(tried.error)}`;
}

/** Directories of the system that programs need. /etc is left out, because it reveals the users of the machine. */
const systemFolders = ['/usr', '/bin', '/lib', '/lib64', '/lib32'];
const maxProcesses = 64;
const maxFileBytes = 64 * 1024 * 1024;

function commandLine(
  folder: string,
  { bwrap, prlimit, python }: SandboxPrograms,
  { limits, ready }: { readonly limits: CodeLimits; readonly ready: string },
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
    '/bin/sh',
    '-c',
    `echo ${ready} >&2; exec "$@"`,
    'sh',
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

async function launch(
  programs: SandboxPrograms,
  folder: string,
  { code, files }: Side,
  limits: CodeLimits,
): Promise<SandboxProcess> {
  await writeFiles(folder, { ...files, [mainFile]: code });
  const start = new StartOfCode();
  const [command = '', ...args] = commandLine(folder, programs, { limits, ready: start.mark });
  const child = spawn(command, args, { stdio: ['pipe', 'pipe', 'pipe'], env: {}, cwd: '/', detached: true });
  return {
    child,
    start,
    kill: () => killGroup(child),
    cleanUp: async () => {},
    notStarted: (why, cause) => new SandboxError('unavailable', `bubblewrap cannot start: ${why}`, { cause }),
  };
}

/**
 * Kills the whole process group. If only bubblewrap were killed, its child might survive: after its start, the child
 * needs a moment until the kernel ends it together with bubblewrap.
 */
function killGroup({ pid }: ChildProcess): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    // The group has already ended.
  }
}
