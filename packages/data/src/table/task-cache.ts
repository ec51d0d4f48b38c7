import { randomUUID } from 'node:crypto';
import { mkdir, readdir, readFile, rename, rm, stat, utimes, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { isJsonObject, parseJsonObject, TaskError, sha256, codeOfError, explainCacheError } from '@agentjet/core';
import { readCacheHome } from '@agentjet/model-hub';
import { RowIndex } from './row-index.js';

/**
 * Caches the result of reading a large file. Each combination of a file and its reading options has a folder with
 * `card.json`, `index.bin` (a `RowIndex`), and `rows.jsonl` if the file is not JSON Lines. A folder is made under
 * another name and renamed, so two processes may make it at the same time: the first to finish wins. A damaged folder
 * is made again.
 */

export type CacheCard = {
  readonly version: 1;
  readonly rows: number;
  /** Hash of the file that was read. */
  readonly sha256: string;
  readonly indexSha256: string;
  /** Null if the rows are in the file itself. */
  readonly rowsBytes: number | null;
};

export type CacheEntry = { readonly card: CacheCard; readonly index: RowIndex; readonly dir: string };

const unusedDays = 60;

/** Returns the folder of all entries: in `XDG_CACHE_HOME`, or in `~/.cache`. */
function taskCacheDir(): string {
  return path.join(readCacheHome(), 'agentjet', 'tasks');
}

/** Returns the folder of one entry. `key`: everything that its content depends on. */
export function entryDir(key: readonly unknown[]): string {
  return path.join(taskCacheDir(), sha256(JSON.stringify(key)).slice(0, 32));
}

/** Returns undefined if it was never made, or is broken. */
export async function readEntry(dir: string): Promise<CacheEntry | undefined> {
  try {
    const card = toCard(parseJsonObject(await readFile(path.join(dir, 'card.json'), 'utf8')));
    if (card === undefined) return undefined;
    const bytes = await readFile(path.join(dir, 'index.bin'));
    if (bytes.length !== card.rows * RowIndex.bytesPerRow || sha256(bytes) !== card.indexSha256) return undefined;
    if (card.rowsBytes !== null && (await stat(path.join(dir, 'rows.jsonl'))).size !== card.rowsBytes) return undefined;
    await utimes(dir, new Date(), new Date()).catch(() => undefined); // used today
    return { card, index: new RowIndex(toBuffer(bytes)), dir };
  } catch {
    return undefined;
  }
}

function toBuffer({ buffer, byteOffset, byteLength }: Buffer): ArrayBuffer {
  const isWhole = buffer instanceof ArrayBuffer && byteLength === buffer.byteLength;
  return isWhole ? buffer : (buffer.slice(byteOffset, byteOffset + byteLength) as ArrayBuffer);
}

function toCard(value: unknown): CacheCard | undefined {
  if (!isJsonObject(value) || value['version'] !== 1) return undefined;
  const { rows, sha256: sum, indexSha256, rowsBytes } = value;
  if (typeof rows !== 'number' || typeof sum !== 'string' || typeof indexSha256 !== 'string') return undefined;
  if (rowsBytes !== null && typeof rowsBytes !== 'number') return undefined;
  return { version: 1, rows, sha256: sum, indexSha256, rowsBytes };
}

/** Makes a folder next to the entry's place. Fill it, then pass it to `keepEntry` or `dropDraft`. Throws TaskError. */
export async function openDraft(dir: string): Promise<string> {
  const draft = `${dir}.${process.pid}-${randomUUID().slice(0, 8)}`;
  await mkdir(draft, { recursive: true }).catch((error: unknown) => {
    throw unwritable(dir, error);
  });
  return draft;
}

export async function dropDraft(draft: string): Promise<void> {
  await rm(draft, { recursive: true, force: true });
}

/** Completes the draft and moves it to its place. Throws TaskError `cache_unwritable` or `disk_full`. */
export async function keepEntry(
  dir: string,
  draft: string,
  { bytes, ...card }: Omit<CacheCard, 'version' | 'indexSha256'> & { readonly bytes: ArrayBuffer },
): Promise<void> {
  try {
    const index = new Uint8Array(bytes);
    await writeFile(path.join(draft, 'index.bin'), index);
    const whole: CacheCard = { version: 1, ...card, indexSha256: sha256(index) };
    await writeFile(path.join(draft, 'card.json'), `${JSON.stringify(whole)}\n`);
    await putInPlace(dir, draft);
  } catch (error) {
    await dropDraft(draft);
    throw unwritable(dir, error);
  }
  await removeUnused(path.dirname(dir));
}

async function putInPlace(dir: string, draft: string): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await rename(draft, dir);
    } catch (error) {
      if (!isTaken(error) || attempt === 3) throw error;
    }
    if ((await readEntry(dir)) !== undefined) return dropDraft(draft); // another process was faster, with the same result
    await rm(dir, { recursive: true, force: true });
  }
}

const isTaken = (error: unknown): boolean =>
  ['ENOTEMPTY', 'EEXIST', 'EPERM', 'EACCES'].includes(codeOfError(error) ?? '');

/** Removes entries that were not used for two months, and drafts of processes that no longer exist. It changes nothing else. */
async function removeUnused(folder: string): Promise<void> {
  for (const name of await readdir(folder).catch(() => [])) {
    const [, pid] = /^[0-9a-f]{32}(?:\.(\d+)-[0-9a-f]{8})?$/.exec(name) ?? [null];
    if (pid === null) continue;
    const entry = path.join(folder, name);
    const days = (Date.now() - (await stat(entry).catch(() => ({ mtimeMs: Date.now() }))).mtimeMs) / 86_400_000;
    if (pid === undefined ? days > unusedDays : days > 1) await rm(entry, { recursive: true, force: true });
  }
}

/** Describes the error of writing into the cache. */
export function unwritable(dir: string, error: unknown): TaskError {
  if (error instanceof TaskError) return error;
  const { code, reason } = explainCacheError(error);
  return new TaskError(
    code,
    `Cannot write the task cache in ${path.dirname(dir)}: ${reason}, or name another folder with XDG_CACHE_HOME.`,
    { cause: error },
  );
}
