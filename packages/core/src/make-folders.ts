import { existsSync, mkdirSync } from 'node:fs';
import path from 'node:path';

/**
 * Makes a folder and those above it. Throws what the file system says. (Node's own recursive mkdir never returns where a
 * file system has no room for folders but calls the parent missing, as /proc does.)
 */
export function makeFolders(dir: string): void {
  if (existsSync(dir)) return;
  const parent = path.dirname(path.resolve(dir));
  if (parent !== path.resolve(dir)) makeFolders(parent);
  try {
    mkdirSync(dir);
  } catch (error) {
    if (!existsSync(dir)) throw error; // else somebody was quicker
  }
}
