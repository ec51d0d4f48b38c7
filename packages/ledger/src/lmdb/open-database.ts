import { accessSync, closeSync, constants, existsSync, openSync, statSync } from 'node:fs';
import path from 'node:path';
import { toErrorMessage } from '@agentjet/core';
import type { Key, RootDatabase } from 'lmdb';
import { StoreError } from '../store/store-error.js';
import { isFull } from './disk.js';

/** Opens the environment. A read-only environment needs no list of dirty pages, which takes megabytes. */
export type OpenFile = (isReadOnly: boolean) => RootDatabase<Buffer, Key>;

/**
 * Opens a file of a store. Throws StoreError `damaged` or `full`. Throws StoreError `failed` if the file is not the
 * cause: there are no handles, no permission, or no memory.
 */
export function openDatabase(open: OpenFile, file: string, isReadOnly: boolean): RootDatabase<Buffer, Key> {
  const listeners = process.listeners('exit');
  try {
    requireOpenable(file, isReadOnly);
    const database = open(isReadOnly);
    // At exit lmdb would close files that its own thread may be writing, which can crash. Its listener is removed,
    // because committed entries do not need it.
    for (const listener of process.listeners('exit')) if (!listeners.includes(listener)) process.off('exit', listener);
    return database;
  } catch (error) {
    throw toStoreError(error, file);
  }
}

/**
 * Throws if LMDB cannot open the file. LMDB itself can end the process with SIGSEGV if it cannot open a file, and with
 * SIGBUS on a full disk, because it writes a new lock file through memory. Only LMDB may open the lock file: a process
 * that closes it loses all its locks.
 */
function requireOpenable(file: string, isReadOnly: boolean): void {
  const { R_OK, W_OK } = constants;
  const dir = path.dirname(file);
  const lock = `${file}-lock`;
  const known = statSync(lock, { throwIfNoEntry: false });
  if ((known?.blocks ?? 0) === 0 && isFull('', dir)) throw new OpenError('there is no room for its lock file');
  if (known?.isFile() === false) throw new OpenError(`${lock} is not a file`);
  accessSync(known === undefined ? dir : lock, R_OK | W_OK);
  if (existsSync(file)) accessSync(file, isReadOnly ? R_OK : R_OK | W_OK);
  const handles: number[] = [];
  try {
    while (handles.length < numHandles) handles.push(openSync(dir, 'r'));
  } finally {
    for (const handle of handles) closeSync(handle);
  }
}

class OpenError extends Error {
  readonly code = 'EOPEN';
}

function toStoreError(error: unknown, file: string): StoreError {
  const message = toErrorMessage(error);
  const { code } = error as { readonly code?: number | string };
  const failed = `${file} cannot be opened: ${message}.`;
  if (isFull(message, path.dirname(file))) return new StoreError('full', `${failed} ${freeSpace}`, { cause: error });
  const isDamaged = code === undefined || damages.has(code);
  if (!isDamaged) return new StoreError('failed', failed, { cause: error });
  return new StoreError('damaged', `${failed} ${restore}`, { cause: error });
}

/** LMDB's error codes for a damaged file: page not found, corrupted, wrong version, invalid. */
const damages: ReadonlySet<number | string> = new Set([-30_797, -30_796, -30_794, -30_793]);
/** The number of handles that LMDB needs, plus some for other work. */
const numHandles = 8;
export const freeSpace = 'Free disk space; the server then continues without a restart.';
export const restore = 'Restore the store from a copy, or start a new run from the newest checkpoint.';
