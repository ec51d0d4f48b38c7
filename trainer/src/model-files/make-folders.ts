import { mkdir, stat } from 'node:fs/promises';
import path from 'node:path';

/**
 * Makes a folder and those above it. Rejects with what the file system says. (Node's own recursive mkdir never returns
 * where a file system has no room for folders but calls the parent missing, as /proc does.)
 */
export async function makeFolders(dir: string): Promise<void> {
  const missing: string[] = [];
  let at = path.resolve(dir);
  while (!(await isThere(at)) && path.dirname(at) !== at) {
    missing.push(at);
    at = path.dirname(at);
  }
  for (const folder of missing.reverse()) {
    await mkdir(folder).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'EEXIST') throw error; // somebody else was quicker
    });
  }
}

function isThere(place: string): Promise<boolean> {
  return stat(place).then(() => true, () => false);
}
