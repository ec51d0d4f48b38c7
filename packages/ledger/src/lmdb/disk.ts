import { mkdirSync, statfsSync } from 'node:fs';
import { open } from 'node:fs/promises';
import path from 'node:path';

/** A disk with less is full, though LMDB may call a failed write an I/O error. */
const nextToNothing = 2 ** 20;

export function freeBytes(dir: string): number {
  const { bavail, bsize } = statfsSync(dir);
  return bavail * bsize;
}

/** `reason`: what a write failed with. */
export function isFull(reason: string, dir: string): boolean {
  return /MDB_MAP_FULL|ENOSPC|No space/i.test(reason) || freeBytes(dir) < nextToNothing;
}

/** Makes a folder, and those above it, for good. */
export async function makeSyncedFolder(dir: string): Promise<void> {
  const first = mkdirSync(dir, { recursive: true });
  if (first === undefined) return;
  const { length } = path.resolve(first);
  for (let made = path.resolve(dir); made.length >= length; made = path.dirname(made))
    await syncPath(path.dirname(made));
}

/** Brings a file to the disk, or the names in a folder: a new or removed name is there or gone for good only then. */
export async function syncPath(name: string): Promise<void> {
  const handle = await open(name, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
