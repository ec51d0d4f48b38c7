import { existsSync, mkdirSync } from 'node:fs';
import { open, rename, rm } from 'node:fs/promises';
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

/**
 * Replaces `file` so that a reader sees the old text or the new one, even if the process is killed. With `isFlushed`
 * (default) this is also true after a power cut.
 */
export async function replaceFile(
  file: string,
  text: string,
  { isFlushed = true }: { readonly isFlushed?: boolean } = {},
): Promise<void> {
  const temporary = path.join(path.dirname(file), `.${path.basename(file)}.writing-${process.pid}`);
  try {
    await writeText(temporary, text, isFlushed);
    await rename(temporary, file);
  } catch (thrown) {
    await rm(temporary, { force: true });
    throw thrown;
  }
}

async function writeText(file: string, text: string, isFlushed: boolean): Promise<void> {
  const handle = await open(file, 'w');
  try {
    await handle.writeFile(text);
    if (isFlushed) await handle.sync();
  } finally {
    await handle.close();
  }
}
