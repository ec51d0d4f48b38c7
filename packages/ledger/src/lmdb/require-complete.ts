import { StoreError } from '../store/store-error.js';
import type { LmdbFile } from './lmdb-file.js';
import { restore } from './open-database.js';
import type { StoreEnd } from './store-head.js';

/**
 * Throws StoreError `damaged` if a file of the store is missing or empty, or if the newest file ends before the commit
 * that the head names. The newest file lists the older files, and those of them that were removed since.
 */
export function requireComplete(dir: string, files: readonly LmdbFile[], end: StoreEnd | undefined): void {
  const begun = files.filter(({ format }) => format !== undefined);
  const [newest] = begun.slice(-1);
  if (end === undefined) {
    if (newest !== undefined) refuse(dir, 'its file "head" is missing');
    return;
  }
  const reached = newest?.number ?? -1;
  if (reached < end.file) refuse(dir, `its file ${nameOf(end.file)} is missing or empty`);
  if (newest === undefined) return;
  const { files: known = [], removed = [], numCommits } = newest.readMeta();
  if (reached === end.file && numCommits < end.commits)
    refuse(dir, `${newest.path} ends at commit ${numCommits} of ${end.commits}`);
  const found = new Set(begun.map(({ number }) => number));
  const missing = known.find((number) => !found.has(number) && !removed.includes(number));
  if (missing !== undefined) refuse(dir, `its file ${nameOf(missing)} is missing or empty`);
}

const nameOf = (number: number): string => `${String(number).padStart(6, '0')}.mdb`;

function refuse(dir: string, problem: string): never {
  throw new StoreError('damaged', `The store at ${dir} is damaged: ${problem}. ${restore}`);
}
