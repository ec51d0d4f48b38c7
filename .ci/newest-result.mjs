// To name the result of the newest release, a page writes `newest` instead of a version:
// `test/releases/results/newest/<file>`.
import { existsSync, readdirSync } from 'node:fs';
import path from 'node:path';

const byVersion = new Intl.Collator('en', { numeric: true }).compare;

/**
 * Returns the path with the highest version that has the file. A path without `newest` is returned unchanged. Throws
 * Error if no version has the file.
 */
export function findNewestResult(file, root) {
  const [folder, rest] = file.split('/newest/');
  if (rest === undefined) return file;
  const versions = readdirSync(path.join(root, folder)).filter((version) =>
    existsSync(path.join(root, folder, version, rest)),
  );
  const newest = versions.toSorted(byVersion).at(-1);
  if (newest === undefined) throw new Error(`no version in ${folder} has ${rest}`);
  return path.posix.join(folder, newest, rest);
}
