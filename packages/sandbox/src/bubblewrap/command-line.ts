import { existsSync } from 'node:fs';
import type { CodeLimits } from '../code-runner.js';
import type { SandboxPrograms } from './find-programs.js';

/** The folders that the code can write. They are file systems in memory, which disappear with the sandbox. */
export const writableFolders = ['/work', '/tmp', '/dev/shm'];

/** The maximum number of processes and threads of one program. */
export const maxTasks = 64;
/** The maximum size of a file and of a writable folder. A program with less memory gets smaller folders. */
const maxFileMegabytes = 64;
const maxOpenFiles = 512;
/** Each thread reserves a stack of this size, which counts as data. */
const maxStackMegabytes = 4;
const megabyte = 1024 * 1024;

/** Directories of the system that programs need. /etc is left out, because it reveals the users of the machine. */
const systemFolders = ['/usr', '/bin', '/lib', '/lib64', '/lib32'];

/** A user without rights. bubblewrap runs as this user if this process is root. */
export const nobody = 65_534;
const asNobody = [`--reuid=${nobody}`, `--regid=${nobody}`, '--clear-groups', '--inh-caps=-all'];

type CommandOptions = {
  /** The folder of the given files. The code gets a copy. */
  readonly folder: string;
  readonly limits: CodeLimits;
  /** The word that the sandbox prints on standard error when it is ready. */
  readonly ready: string;
  /** The files that let a process enter its control group. */
  readonly entries: readonly string[];
  /** The file descriptor from which bubblewrap reads the filter of system calls. */
  readonly filterDescriptor: number | null;
  /** The program and its arguments. */
  readonly run: readonly string[];
};

/** Returns the command that runs a program in a new sandbox. */
export function commandLine(programs: SandboxPrograms, options: CommandOptions): readonly string[] {
  const command = [
    ...(programs.setpriv === null ? [] : [programs.setpriv, ...asNobody]),
    programs.bwrap,
    ...isolation(programs, options),
    ...folders(programs, options),
    ...inside(programs, options),
  ];
  if (options.entries.length === 0) return command;
  const enter = options.entries.map((file) => `echo 0 > ${file}`).join(' && ');
  return ['/bin/sh', '-c', `${enter} && exec "$@"`, 'sh', ...command];
}

function isolation({ features }: SandboxPrograms, { filterDescriptor }: CommandOptions): readonly string[] {
  const variables = { PATH: '/usr/bin:/bin', HOME: '/work', PYTHONDONTWRITEBYTECODE: '1', MALLOC_ARENA_MAX: '2' };
  const nested = features.disableUserNamespaces ? ['--disable-userns'] : [];
  return [
    ['--unshare-all', '--unshare-user', '--die-with-parent', '--new-session', '--cap-drop', 'ALL', '--clearenv'],
    filterDescriptor === null ? nested : ['--seccomp', String(filterDescriptor)],
    ...Object.entries(variables).map(([name, value]) => ['--setenv', name, value]),
  ].flat();
}

/**
 * Makes everything except the writable folders read-only. /dev and the root of bubblewrap are also file systems in
 * memory, and /proc has settings of the kernel that root could write, even without privileges.
 */
function folders({ features }: SandboxPrograms, { folder, limits }: CommandOptions): readonly string[] {
  const megabytes = Math.min(maxFileMegabytes, Math.ceil(limits.megabytes / 2));
  const size = features.size ? ['--size', String(megabytes * megabyte)] : [];
  return [
    ...systemFolders.filter(existsSync).map((name) => ['--ro-bind', name, name]),
    ['--proc', '/proc', '--dev', '/dev', '--ro-bind', folder, '/given'],
    ...writableFolders.map((name) => [...size, '--tmpfs', name]),
    ['--remount-ro', '/proc', '--remount-ro', '/dev', '--remount-ro', '/', '--chdir', '/work'],
  ].flat();
}

/**
 * Limits each process. It may use four times as many addresses as data, because libraries and the addresses that
 * threads reserve take no memory. The soft limit of CPU time sends a signal that differs from the signal for a lack of
 * memory.
 */
function inside({ prlimit }: SandboxPrograms, { limits, ready, run }: CommandOptions): readonly string[] {
  const bytes = Math.ceil(limits.megabytes * megabyte);
  const seconds = Math.ceil(limits.seconds) + 1;
  return [
    ['/bin/sh', '-c', `cp -R /given/. /work/ && echo ${ready} >&2 && exec "$@"`, 'sh', prlimit],
    [`--data=${bytes}`, `--as=${4 * bytes}`, `--fsize=${maxFileMegabytes * megabyte}`],
    [`--nproc=${maxTasks}`, `--nofile=${maxOpenFiles}`, `--stack=${maxStackMegabytes * megabyte}:unlimited`],
    [`--cpu=${seconds}:${seconds + 1}`, '--core=0', '--memlock=65536', '--sigpending=1024', '--msgqueue=819200'],
    run,
  ].flat();
}
