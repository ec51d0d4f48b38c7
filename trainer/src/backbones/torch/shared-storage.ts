import { randomBytes } from 'node:crypto';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';

/** Writes a file with random content into a folder that all nodes should see. */
export type SharedProbe = {
  readonly config: { readonly sharedFile: string; readonly sharedText: string };
  remove(): Promise<void>;
};

export async function writeSharedProbe(dir: string): Promise<SharedProbe> {
  const text = randomBytes(16).toString('hex');
  const file = path.resolve(dir, `.ajet-shared-${text.slice(0, 8)}`);
  await mkdir(path.dirname(file), { recursive: true });
  await writeFile(file, text);
  return { config: { sharedFile: file, sharedText: text }, remove: () => rm(file, { force: true }) };
}
