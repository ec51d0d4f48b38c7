import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { hostname, tmpdir } from 'node:os';
import path from 'node:path';
import { parseJsonObject } from '@agentjet/core';
import { describeSelf, isProcessAlive, ownPidSpace, type ProcessIdentity } from '@agentjet/core/processes';
import { readRegularFile } from './read-regular-file.js';

/** Names the process that uses the folder. It is written first, so only an empty folder can be without it. */
const ownerFile = '.owner.json';

/**
 * Creates a temporary folder whose name begins with the prefix. Remove it after use. Folders with this prefix are
 * removed first if a killed process of this machine left them.
 */
export async function createScratchFolder(prefix: string): Promise<string> {
  await removeLeft(prefix);
  const folder = await mkdtemp(path.join(tmpdir(), prefix));
  try {
    await writeFile(path.join(folder, ownerFile), JSON.stringify(describeSelf()));
    return folder;
  } catch (error) {
    await rm(folder, { recursive: true, force: true });
    throw error;
  }
}

/** A folder that cannot be read or removed remains. It may belong to another user. */
async function removeLeft(prefix: string): Promise<void> {
  for (const name of await readdir(tmpdir()).catch(() => [])) {
    if (!name.startsWith(prefix)) continue;
    const folder = path.join(tmpdir(), name);
    const owner = parseJsonObject(await readRegularFile(path.join(folder, ownerFile)).catch(() => ''));
    if (isGone(owner)) await rm(folder, { recursive: true, force: true }).catch(() => undefined);
  }
}

/** Whether the owner is a process of this machine, or of this container, that no longer exists. */
function isGone({ host, space, pid, started }: Partial<ProcessIdentity> = {}): boolean {
  return typeof pid === 'number' && host === hostname() && space === ownPidSpace() && !isProcessAlive({ pid, started });
}
