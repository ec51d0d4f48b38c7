import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { checkFileName } from '../code-runner.js';

/** Writes files into the folder. Throws SandboxError for a name that points outside of it. */
export async function writeFiles(folder: string, files: Readonly<Record<string, string>>): Promise<void> {
  for (const [name, text] of Object.entries(files)) {
    checkFileName(name);
    await mkdir(path.dirname(path.join(folder, name)), { recursive: true });
    await writeFile(path.join(folder, name), text);
  }
}
