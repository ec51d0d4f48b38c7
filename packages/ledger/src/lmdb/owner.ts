import { execFileSync } from 'node:child_process';
import { readFileSync, readlinkSync } from 'node:fs';
import { hostname } from 'node:os';
import { StoreError } from '../store/store-error.js';

/** The process that writes. `heartbeat` is in milliseconds since 1970, because other processes compare it. */
export type Owner = {
  readonly id: string;
  readonly term: number;
  readonly host: string;
  readonly pid: number;
  readonly bootId: string;
  readonly heartbeat: number;
  /** The namespace of the pid, because two containers may have the same host name and the same pids. Linux only. */
  readonly space?: string | undefined;
  /** The start time of the process, as the system reports it. A later process may get the same pid. */
  readonly started?: string | undefined;
};

/**
 * Whether the owner is dead. An owner is dead if its process no longer exists on this machine, or if it sent no
 * heartbeat for 30 seconds.
 */
export function isDead(owner: Owner, bootId: string): boolean {
  if (isOver(owner)) return true;
  if (owner.host !== hostname()) return false;
  return owner.bootId !== bootId || (owner.space === ownSpace() && !isAlive(owner));
}

/** Throws StoreError `owned` unless the owner is dead. */
export function requireDead(owner: Owner | undefined, bootId: string): void {
  if (owner === undefined || isDead(owner, bootId)) return;
  const isElsewhere = owner.host === hostname() && owner.space !== ownSpace();
  const where = isElsewhere ? `${owner.host}, in another container` : owner.host;
  throw new StoreError(
    'owned',
    `The store is in use by process ${owner.pid} on ${where}. Stop it, or pass --take-over if it no longer exists. Without a sign of life it counts as dead after ${deadAfterMs / 1000} s.`,
  );
}

/** Whether only the next heartbeat can show that the owner is alive, because the owner is in another container. */
export const isSilent = (owner: Owner): boolean =>
  !isOver(owner) && owner.host === hostname() && owner.space !== ownSpace();

const isOver = ({ heartbeat }: Owner): boolean => Date.now() - heartbeat > deadAfterMs;

/** Returns the fields of an Owner that identify this process. */
export function describeSelf(): Pick<Owner, 'host' | 'pid' | 'space' | 'started'> {
  const { pid } = process;
  if (self?.pid !== pid) self = { pid, started: startOf(pid) };
  return { host: hostname(), space: ownSpace(), ...self };
}

function isAlive({ pid, started }: Owner): boolean {
  // If the ids are equal, the owner is an earlier store of this process, which was closed or forgotten, or an earlier
  // process with the same pid.
  if (pid === process.pid) return false;
  if (started !== undefined && startOf(pid) !== started) return false;
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

let self: Pick<Owner, 'pid' | 'started'> | undefined;

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

function ownSpace(): string | undefined {
  try {
    return readlinkSync('/proc/self/ns/pid');
  } catch {
    return undefined; // only Linux has namespaces
  }
}

const deadAfterMs = 30_000;
