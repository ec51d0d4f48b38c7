// A page names the newest release's result of a file by `newest` in the place of the version: `test/releases/results/newest/<file>`.
import { existsSync, readdirSync } from 'node:fs';
import path from 'node:path';

const byVersion = new Intl.Collator('en', { numeric: true }).compare;

/** The same path with the highest version that has the file; a path without `newest` as it is. Throws Error if none has it. */
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
