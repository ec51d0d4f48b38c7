import { mkdirSync, statfsSync } from 'node:fs';
import { open } from 'node:fs/promises';
import path from 'node:path';

/** A disk with fewer free bytes counts as full, even if LMDB reports a failed write as an I/O error. */
const nextToNothing = 2 ** 20;

export function freeBytes(dir: string): number {
  const { bavail, bsize } = statfsSync(dir);
  return bavail * bsize;
}

/** `reason`: the message of the failed write. */
export function isFull(reason: string, dir: string): boolean {
  return /MDB_MAP_FULL|ENOSPC|EDQUOT|No space/i.test(reason) || freeBytes(dir) < nextToNothing;
}

/** Creates a folder and its parents, and syncs them. */
export async function makeSyncedFolder(dir: string): Promise<void> {
  const first = mkdirSync(dir, { recursive: true });
  if (first === undefined) return;
  const { length } = path.resolve(first);
  for (let made = path.resolve(dir); made.length >= length; made = path.dirname(made))
    await syncPath(path.dirname(made));
}

/** Syncs a file, or the names in a folder. A new or removed name is durable only after its folder is synced. */
export async function syncPath(name: string): Promise<void> {
  const handle = await open(name, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
