import { spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdtempSync, rmSync } from 'node:fs';
import { release, tmpdir } from 'node:os';
import path from 'node:path';
import { findControlGroups, type GroupParents } from '../process/control-group.js';
import { commandLine } from './command-line.js';

export type SandboxPrograms = {
  readonly bwrap: string;
  readonly prlimit: string;
  readonly python: string;
  /** Whether bubblewrap can limit the size of a file system in memory (0.7) and forbid nested namespaces (0.8). */
  readonly features: { readonly size: boolean; readonly disableUserNamespaces: boolean };
  /** A program that gives up the rights of root. Null if this process is not root, or if bubblewrap needs root here. */
  readonly setpriv: string | null;
  /** The place for control groups. Null if there is none. The memory of the processes is then summed instead. */
  readonly groups: GroupParents | null;
};

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
  const found = { bwrap, prlimit, python, features: featuresOf(bwrap), groups: findControlGroups() };
  const setpriv = canGiveUpRoot() ? (find('setpriv') ?? null) : null;
  if (setpriv !== null && tryToStart({ ...found, setpriv }) === null) return { ...found, setpriv };
  const problem = tryToStart({ ...found, setpriv: null });
  return problem === null ? { ...found, setpriv: null } : `bubblewrap cannot start here: ${problem}`;
}

/** Since Linux 5.14, a user's processes are counted per namespace. In older kernels, sandboxes share one count. */
function canGiveUpRoot(): boolean {
  const [major = 0, minor = 0] = release()
    .split('.')
    .map((number) => parseInt(number, 10));
  return process.getuid?.() === 0 && (major > 5 || (major === 5 && minor >= 14));
}

function tryToStart(programs: SandboxPrograms): string | null {
  const folder = mkdtempSync(path.join(tmpdir(), 'ajet-sandbox-'));
  chmodSync(folder, 0o755);
  const limits = { seconds: 5, megabytes: 256, outputCharacters: 1 };
  const options = { folder, limits, ready: 'ready', entries: [], filterDescriptor: null };
  const [command = '', ...args] = commandLine(programs, { ...options, run: [programs.python, '--version'] });
  const tried = spawnSync(command, args, { encoding: 'utf8', timeout: 10_000, env: {} });
  rmSync(folder, { recursive: true });
  return tried.status === 0 ? null : tried.stderr?.trim() || String(tried.error);
}

function featuresOf(bwrap: string): SandboxPrograms['features'] {
  const { stdout } = spawnSync(bwrap, ['--version'], { encoding: 'utf8', timeout: 10_000, env: {} });
  const [, major = '0', minor = '0'] = /(\d+)\.(\d+)/.exec(stdout) ?? [];
  const version = 1000 * Number(major) + Number(minor);
  return { size: version >= 7, disableUserNamespaces: version >= 8 };
}
