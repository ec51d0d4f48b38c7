import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { checkFileName } from '../code-runner.js';

/** Throws SandboxError for a name that points outside of the folder. */
export async function writeFiles(folder: string, files: Readonly<Record<string, string>>): Promise<void> {
  for (const [name, text] of Object.entries(files)) {
    checkFileName(name);
    await mkdir(path.dirname(path.join(folder, name)), { recursive: true });
    await writeFile(path.join(folder, name), text);
  }
}
