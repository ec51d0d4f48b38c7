import { hostname } from 'node:os';
import { isProcessAlive, isProcessGone, ownPidSpace, type ProcessIdentity } from '@agentjet/core/processes';
import { StoreError } from '../store/store-error.js';

/** The process that writes. `heartbeat` is in milliseconds since 1970, because other processes compare it. */
export type Owner = ProcessIdentity & {
  readonly id: string;
  readonly term: number;
  readonly bootId: string;
  readonly heartbeat: number;
};

/**
 * Whether the owner is dead. An owner is dead if its process no longer exists on this machine, or if it sent no
 * heartbeat for 30 seconds.
 */
export const isDead = (owner: Owner, bootId: string): boolean => isOver(owner) || isProcessGone(owner, bootId, isAlive);

/** Throws StoreError `owned` unless the owner is dead. */
export function requireDead(owner: Owner | undefined, bootId: string): void {
  if (owner === undefined || isDead(owner, bootId)) return;
  const isElsewhere = owner.host === hostname() && owner.space !== ownPidSpace();
  const where = isElsewhere ? `${owner.host}, in another container` : owner.host;
  throw new StoreError(
    'owned',
    `The store is in use by process ${owner.pid} on ${where}. Stop it, or pass --take-over if it no longer exists. Without a sign of life it counts as dead after ${deadAfterMs / 1000} s.`,
  );
}

/** Whether only the next heartbeat can show that the owner is alive, because the owner is in another container. */
export const isSilent = (owner: Owner): boolean =>
  !isOver(owner) && owner.host === hostname() && owner.space !== ownPidSpace();

const isOver = ({ heartbeat }: Owner): boolean => Date.now() - heartbeat > deadAfterMs;

function isAlive(owner: ProcessIdentity): boolean {
  // If the ids are equal, the owner is an earlier store of this process, which was closed or forgotten, or an earlier
  // process with the same pid.
  return owner.pid !== process.pid && isProcessAlive(owner);
}

const deadAfterMs = 30_000;
