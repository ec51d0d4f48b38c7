import { existsSync, mkdirSync } from 'node:fs';
import path from 'node:path';

/**
 * Makes a folder and its parents. Throws the errors of the file system. (Node's own recursive mkdir never returns if a file
 * system cannot hold folders but reports a missing parent, as /proc does.)
 */
export function makeFolders(dir: string): void {
  if (existsSync(dir)) return;
  const parent = path.dirname(path.resolve(dir));
  if (parent !== path.resolve(dir)) makeFolders(parent);
  try {
    mkdirSync(dir);
  } catch (error) {
    if (!existsSync(dir)) throw error; // otherwise another process made it first
  }
}
