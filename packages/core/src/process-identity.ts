import { execFileSync } from 'node:child_process';
import { readFileSync, readlinkSync } from 'node:fs';
import { hostname } from 'node:os';
import { codeOfError } from './errors.js';

/** A process of this machine or of another one, so that a later process can find out whether it is alive. */
export type ProcessIdentity = {
  readonly host: string;
  readonly pid: number;
  /** The namespace of the pid, because two containers may have the same host name and the same pids. Linux only. */
  readonly space?: string | undefined;
  /** The start time of the process, as the system reports it. A later process may get the same pid. */
  readonly started?: string | undefined;
};

/** Returns the identity of this process. */
export function describeSelf(): ProcessIdentity {
  const { pid } = process;
  if (self?.pid !== pid) self = { pid, started: startOf(pid) };
  return { host: hostname(), space: ownPidSpace(), ...self };
}

/** Whether the process exists, if its host and its namespace are those of this process. */
export function isProcessAlive({ pid, started }: Pick<ProcessIdentity, 'pid' | 'started'>): boolean {
  if (started !== undefined && startOf(pid) !== started) return false;
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return codeOfError(error) === 'EPERM';
  }
}

/**
 * Whether a process of this machine no longer exists. A process of another machine or namespace of pids may exist.
 * `bootId` names the present start of the machine. `isAlive` decides about a process whose pid can be looked up.
 */
export function isProcessGone(
  identity: ProcessIdentity & { readonly bootId: string },
  bootId: string,
  isAlive: (identity: ProcessIdentity) => boolean = isProcessAlive,
): boolean {
  if (identity.host !== hostname()) return false;
  return identity.bootId !== bootId || (identity.space === ownPidSpace() && !isAlive(identity));
}

let self: Pick<ProcessIdentity, 'pid' | 'started'> | undefined;

/** Returns undefined if the process does not exist or the system does not report its start time. */
function startOf(pid: number): string | undefined {
  try {
    if (process.platform === 'linux') {
      // The file contains "4242 (node) S 1 ...". The name may contain any character. The start time is the 22nd field.
      const status = readFileSync(`/proc/${pid}/stat`, 'utf8');
      return status.slice(status.lastIndexOf(')') + 2).split(' ')[19];
    }
    if (process.platform === 'darwin')
      return execFileSync('/bin/ps', ['-o', 'lstart=', '-p', String(pid)], { encoding: 'utf8' }).trim() || undefined;
  } catch {
    // There is no such process.
  }
  return undefined;
}

/** Returns the namespace of pids that this process is in. */
export function ownPidSpace(): string | undefined {
  try {
    return readlinkSync('/proc/self/ns/pid');
  } catch {
    return undefined; // only Linux has namespaces
  }
}

/**
 * Identifies the present boot of this machine: by the boot id on Linux, by the time of the boot on macOS. On other
 * systems every process gets a new name. A new name counts as a restart of the machine, and running episodes are then
 * dropped.
 */
export function readBootId(): string {
  try {
    if (process.platform === 'linux') return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
    if (process.platform === 'darwin') {
      const bootTime = execFileSync('/usr/sbin/sysctl', ['-n', 'kern.boottime'], { encoding: 'utf8' });
      return `${hostname()} ${/sec = (\d+)/.exec(bootTime)?.[1] ?? bootTime}`;
    }
  } catch {
    // If the boot time cannot be read, the machine counts as restarted.
  }
  return `${hostname()} ${process.pid} ${Date.now()}`;
}
