import { existsSync } from 'node:fs';
import { mkdir, open, readdir, rename, rm } from 'node:fs/promises';
import path from 'node:path';
import { makeFolders } from '@agentjet/core';
import { isProcessAlive } from '@agentjet/core/processes';

/**
 * Writes folders that exist as a whole or not at all. A folder is written under a temporary name, flushed to disk, and
 * renamed. A kill at any moment leaves the previous state. The next write removes the leftovers of the killed write.
 */

/**
 * Lets `write` fill an empty folder, then moves it to `dir` in place of any existing folder. If `write` or the disk
 * fails, it rejects with that error and `dir` is unchanged.
 */
export async function writeDirAtomically(dir: string, write: (temporaryDir: string) => Promise<void>): Promise<void> {
  const target = path.resolve(dir);
  makeFolders(path.dirname(target));
  await restoreReplacedDir(target);
  await removeLeftovers(target);
  const temporary = sibling(target, `writing-${process.pid}`);
  try {
    await mkdir(temporary);
    await write(temporary);
    await flushTree(temporary);
    await replaceDir(target, temporary);
  } catch (error) {
    await rm(temporary, { recursive: true, force: true });
    throw error;
  }
  await flushDir(path.dirname(target));
}

/**
 * Restores a folder that a killed replacement had moved aside. Readers call it before they conclude that `dir` is
 * missing.
 */
export async function restoreReplacedDir(dir: string): Promise<void> {
  const target = path.resolve(dir);
  const replaced = sibling(target, 'replaced');
  if (!existsSync(target) && existsSync(replaced)) await rename(replaced, target);
}

async function replaceDir(target: string, temporary: string): Promise<void> {
  if (!existsSync(target)) return rename(temporary, target);
  const replaced = sibling(target, 'replaced');
  await rm(replaced, { recursive: true, force: true });
  await rename(target, replaced);
  await rename(temporary, target);
  await rm(replaced, { recursive: true, force: true });
}

function sibling(target: string, suffix: string): string {
  return path.join(path.dirname(target), `.${path.basename(target)}.${suffix}`);
}

async function removeLeftovers(target: string): Promise<void> {
  const prefix = path.basename(sibling(target, 'writing-'));
  for (const name of await readdir(path.dirname(target))) {
    if (!name.startsWith(prefix) || isAlive(Number(name.slice(prefix.length)))) continue;
    await rm(path.join(path.dirname(target), name), { recursive: true, force: true });
  }
}

/**
 * Returns whether the process with this id may still be writing the folder. Returns false for this process, because it
 * makes only one write of a folder at a time. Its leftovers are from an earlier write and can be removed.
 */
function isAlive(pid: number): boolean {
  return pid !== process.pid && isProcessAlive({ pid });
}

async function flushTree(dir: string): Promise<void> {
  for (const entry of await readdir(dir, { withFileTypes: true })) {
    const entryPath = path.join(dir, entry.name);
    await (entry.isDirectory() ? flushTree(entryPath) : flush(entryPath, 'r+'));
  }
  await flushDir(dir);
}

/** Flushes a folder, except on Windows, which cannot flush a folder. On Windows a rename is durable without a flush. */
async function flushDir(dir: string): Promise<void> {
  if (process.platform !== 'win32') await flush(dir, 'r');
}

/**
 * Flushes a file or a folder. Windows flushes only files that are open for writing (`r+`). POSIX flushes a folder only
 * if it is open for reading (`r`).
 */
async function flush(file: string, mode: 'r' | 'r+'): Promise<void> {
  const handle = await open(file, mode);
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
